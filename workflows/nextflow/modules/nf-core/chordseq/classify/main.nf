process CHORDSEQ_CLASSIFY {
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
    tuple val(meta), path("*.tsv")                  , emit: tsv
    tuple val(meta), path("*.kreport")              , emit: report      , optional: true
    tuple val(meta), path("*.krona.txt")            , emit: krona       , optional: true
    tuple val(meta), path("*.html")                 , emit: html        , optional: true
    tuple val(meta), path("*.{bam,cram,sam}")       , emit: bam         , optional: true
    tuple val(meta), path("*.jsonl")                , emit: jsonl       , optional: true
    tuple val(meta), path("*.kraken")               , emit: kraken      , optional: true
    tuple val(meta), path("*.shares")               , emit: shares      , optional: true
    tuple val(meta), path("*.cami.binning")         , emit: cami_binning, optional: true
    tuple val(meta), path("*.cami.profile")         , emit: cami_profile, optional: true
    tuple val(meta), path("*.classes")              , emit: split_dir   , optional: true
    tuple val(meta), path("*.chordseq_summary.json"), emit: summary     , optional: true
    tuple val(meta), path("*.manifest.json")        , emit: manifest    , optional: true
    tuple val("${task.process}"), val('chordseq'), eval("chordseq --version | cut -d ' ' -f 2"), topic: versions, emit: versions_chordseq

    when:
    task.ext.when == null || task.ext.when

    script:
    def args = task.ext.args ?: ''
    def prefix = task.ext.prefix ?: "${meta.id}"
    def device = task.accelerator ? 'cuda' : 'cpu'
    def model_arg = model ? "--model ${model}" : ''
    def reference_arg = fasta ? "--reference ${fasta}" : ''
    // Pairs follow each other: [s1_1, s1_2, s2_1, s2_2]. One file has no mates, with any meta.
    def files = [reads].flatten()
    def paired = !meta.single_end && files.size() > 1
    if (paired && files.size() % 2) {
        error("CHORDSEQ_CLASSIFY: '${meta.id}' has ${files.size()} files, but is not single-end")
    }
    def input = paired ? files.collate(2).collect { pair -> "-1 ${pair[0]} -2 ${pair[1]}" }.join(' ') : files.collect { f -> "-i ${f}" }.join(' ')
    // task.ext.args may add outputs, such as { "--bam ${meta.id}.bam --split-dir ${meta.id}.classes" }.
    // chordseq merge makes the reports from the manifests of shards.
    def part = shard ? "${prefix}.${shard.replace('/', 'of')}" : prefix
    def outputs = shard ? "--shard ${shard} --manifest ${part}.manifest.json" : "--report ${part}.kreport --krona ${part}.krona.txt --html ${part}.html --summary ${part}.chordseq_summary.json"
    """
    chordseq classify \\
        -@ ${task.cpus} \\
        --device ${device} \\
        --sample ${prefix} \\
        ${model_arg} \\
        ${reference_arg} \\
        ${outputs} \\
        --output ${part}.tsv \\
        ${args} \\
        ${input}
    """

    stub:
    def prefix = task.ext.prefix ?: "${meta.id}"
    def part = shard ? "${prefix}.${shard.replace('/', 'of')}" : prefix
    def others = shard ? "${part}.manifest.json" : "${part}.kreport ${part}.krona.txt ${part}.html ${part}.chordseq_summary.json"
    """
    touch ${part}.tsv ${others}
    """
}
