process CHORDSEQ_VARIANT {
    tag "$meta.id"
    label 'process_medium'
    label 'process_gpu'

    conda "${moduleDir}/environment.yml"
    container "${ workflow.containerEngine in ['singularity', 'apptainer'] && !task.ext.singularity_pull_docker_container ?
        'https://depot.galaxyproject.org/singularity/chordseq:0.2.0--0':
        'quay.io/biocontainers/chordseq:0.2.0--0' }"

    input:
    tuple val(meta), path(vcf)
    tuple val(meta2), path(fasta), path(fai)
    path model
    path exons

    output:
    tuple val(meta), path("*.vcf.gz")    , emit: vcf
    tuple val(meta), path("*.vcf.gz.tbi"), emit: tbi
    tuple val(meta), path("*.scores.tsv"), emit: scores
    tuple val("${task.process}"), val('chordseq'), eval("chordseq --version | cut -d ' ' -f 2"), topic: versions, emit: versions_chordseq

    when:
    task.ext.when == null || task.ext.when

    script:
    def args = task.ext.args ?: ''
    def prefix = task.ext.prefix ?: "${meta.id}"
    def device = task.accelerator ? 'cuda' : 'cpu'
    def model_arg = model ? "--model ${model}" : ''
    def exons_arg = exons ? "--exons ${exons}" : ''
    if ("${vcf}" == "${prefix}.vcf.gz") {
        error("CHORDSEQ_VARIANT: input and output have one name; set task.ext.prefix")
    }
    """
    chordseq variant \\
        -@ ${task.cpus} \\
        --device ${device} \\
        ${model_arg} \\
        ${exons_arg} \\
        --reference ${fasta} \\
        --output ${prefix}.vcf.gz \\
        --write-index=tbi \\
        --tsv ${prefix}.scores.tsv \\
        ${args} \\
        ${vcf}
    """

    stub:
    def prefix = task.ext.prefix ?: "${meta.id}"
    """
    echo "" | gzip > ${prefix}.vcf.gz
    touch ${prefix}.vcf.gz.tbi ${prefix}.scores.tsv
    """
}
