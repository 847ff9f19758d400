process CHORDSEQ_PREDICT {
    tag "$meta.id"
    label 'process_medium'
    label 'process_gpu'

    conda "${moduleDir}/environment.yml"
    container "${ workflow.containerEngine in ['singularity', 'apptainer'] && !task.ext.singularity_pull_docker_container ?
        'https://depot.galaxyproject.org/singularity/chordseq:0.2.0--0':
        'quay.io/biocontainers/chordseq:0.2.0--0' }"

    input:
    tuple val(meta), path(reads)
    tuple val(meta2), path(fasta), path(fai)
    path model
    val shard

    output:
    tuple val(meta), path("*.bed")            , emit: bed     , optional: true
    tuple val(meta), path("*.predictions.tsv"), emit: tsv     , optional: true
    tuple val(meta), path("*.bedgraph")       , emit: bedgraph, optional: true
    tuple val(meta), path("*.manifest.json")  , emit: manifest, optional: true
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
    def reference_arg = fasta ? "--reference ${fasta}" : ''
    def suffix = args =~ /--format[ =]tsv/ ? 'predictions.tsv' : args =~ /--format[ =]bedgraph/ ? 'bedgraph' : 'bed'
    def input = [reads].flatten().collect { f -> "-i ${f}" }.join(' ')
    """
    chordseq predict \\
        -@ ${task.cpus} \\
        --device ${device} \\
        ${model_arg} \\
        ${shard_arg} \\
        ${reference_arg} \\
        --output ${part}.${suffix} \\
        ${args} \\
        ${input}
    """

    stub:
    def args = task.ext.args ?: ''
    def prefix = task.ext.prefix ?: "${meta.id}"
    def part = shard ? "${prefix}.${shard.replace('/', 'of')}" : prefix
    def manifest = shard ? "${part}.manifest.json" : ''
    def suffix = args =~ /--format[ =]tsv/ ? 'predictions.tsv' : args =~ /--format[ =]bedgraph/ ? 'bedgraph' : 'bed'
    """
    touch ${part}.${suffix} ${manifest}
    """
}
