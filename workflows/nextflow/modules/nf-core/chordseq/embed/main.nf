process CHORDSEQ_EMBED {
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
    tuple val(meta), path("*.npy")          , emit: npy     , optional: true
    tuple val(meta), path("*.npz")          , emit: npz     , optional: true
    tuple val(meta), path("*.vectors.tsv")  , emit: tsv     , optional: true
    tuple val(meta), path("*.names.tsv")    , emit: names   , optional: true
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
    def reference_arg = fasta ? "--reference ${fasta}" : ''
    // Pairs follow each other: [s1_1, s1_2, s2_1, s2_2]. One file has no mates, with any meta.
    def files = [reads].flatten()
    def paired = !meta.single_end && files.size() > 1
    if (paired && files.size() % 2) {
        error("CHORDSEQ_EMBED: '${meta.id}' has ${files.size()} files, but is not single-end")
    }
    def input = paired ? files.collate(2).collect { pair -> "-1 ${pair[0]} -2 ${pair[1]}" }.join(' ') : files.collect { f -> "-i ${f}" }.join(' ')
    def outputs = args =~ /--format[ =]tsv/ ? "--output ${part}.vectors.tsv" :
        "--names ${part}.names.tsv --output ${part}." + (args =~ /--format[ =]npz/ ? 'npz' : 'npy')
    """
    chordseq embed \\
        -@ ${task.cpus} \\
        --device ${device} \\
        ${model_arg} \\
        ${shard_arg} \\
        ${reference_arg} \\
        ${outputs} \\
        ${args} \\
        ${input}
    """

    stub:
    def args = task.ext.args ?: ''
    def prefix = task.ext.prefix ?: "${meta.id}"
    def part = shard ? "${prefix}.${shard.replace('/', 'of')}" : prefix
    def manifest = shard ? "${part}.manifest.json" : ''
    def outputs = args =~ /--format[ =]tsv/ ? "${part}.vectors.tsv" :
        "${part}.names.tsv ${part}." + (args =~ /--format[ =]npz/ ? 'npz' : 'npy')
    """
    touch ${outputs} ${manifest}
    """
}
