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
    val shard

    output:
    tuple val(meta), path("*.{vcf,vcf.gz}") , emit: vcf
    tuple val(meta), path("*.vcf.gz.tbi")   , emit: tbi     , optional: true
    tuple val(meta), path("*.scores.tsv")   , emit: scores
    tuple val(meta), path("*.manifest.json"), emit: manifest, optional: true
    tuple val("${task.process}"), val('chordseq'), eval("chordseq --version | cut -d ' ' -f 2"), topic: versions, emit: versions_chordseq

    when:
    task.ext.when == null || task.ext.when

    script:
    def args = task.ext.args ?: ''
    def prefix = task.ext.prefix ?: "${meta.id}"
    def part = shard ? "${prefix}.${shard.replace('/', 'of')}" : prefix
    def shard_arg = shard ? "--shard ${shard} --manifest ${part}.manifest.json" : ''
    def device = task.accelerator ? 'cuda' : 'cpu'
    def model_arg = model ? "--model ${model}" : ''
    def exons_arg = exons ? "--exons ${exons}" : ''
    // chordseq merge joins plain VCF.
    def calls = shard ? "${part}.vcf" : "${prefix}.vcf.gz"
    def index_arg = shard ? '' : '--write-index=tbi'
    if ("${vcf}" == calls) {
        error("CHORDSEQ_VARIANT: input and output have one name; set task.ext.prefix")
    }
    """
    chordseq variant \\
        -@ ${task.cpus} \\
        --device ${device} \\
        ${model_arg} \\
        ${shard_arg} \\
        ${exons_arg} \\
        --reference ${fasta} \\
        --output ${calls} \\
        ${index_arg} \\
        --tsv ${part}.scores.tsv \\
        ${args} \\
        ${vcf}
    """

    stub:
    def prefix = task.ext.prefix ?: "${meta.id}"
    def part = shard ? "${prefix}.${shard.replace('/', 'of')}" : prefix
    def calls = shard ? "touch ${part}.vcf ${part}.manifest.json" : "echo '' | gzip > ${prefix}.vcf.gz; touch ${prefix}.vcf.gz.tbi"
    """
    ${calls}
    touch ${part}.scores.tsv
    """
}
