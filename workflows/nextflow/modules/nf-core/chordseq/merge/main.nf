process CHORDSEQ_MERGE {
    tag "$meta.id"
    label 'process_single'

    conda "${moduleDir}/environment.yml"
    container "${ workflow.containerEngine in ['singularity', 'apptainer'] && !task.ext.singularity_pull_docker_container ?
        'https://depot.galaxyproject.org/singularity/chordseq:0.2.0--0':
        'quay.io/biocontainers/chordseq:0.2.0--0' }"

    input:
    tuple val(meta), path(manifests, stageAs: 'parts/*'), path(outputs, stageAs: 'parts/*')

    output:
    tuple val(meta), path("${prefix}.tsv")                  , emit: tsv         , optional: true
    tuple val(meta), path("${prefix}.kreport")              , emit: report      , optional: true
    tuple val(meta), path("${prefix}.krona.txt")            , emit: krona       , optional: true
    tuple val(meta), path("${prefix}.chordseq_summary.json"), emit: summary     , optional: true
    tuple val(meta), path("${prefix}.jsonl")                , emit: jsonl       , optional: true
    tuple val(meta), path("${prefix}.kraken")               , emit: kraken      , optional: true
    tuple val(meta), path("${prefix}.cami.binning")         , emit: cami_binning, optional: true
    tuple val(meta), path("${prefix}.cami.profile")         , emit: cami_profile, optional: true
    tuple val(meta), path("${prefix}.npy")                  , emit: npy         , optional: true
    tuple val(meta), path("${prefix}.names.tsv")            , emit: names       , optional: true
    tuple val(meta), path("${prefix}.vectors.tsv")          , emit: vectors     , optional: true
    tuple val(meta), path("${prefix}.bed")                  , emit: bed         , optional: true
    tuple val(meta), path("${prefix}.bedgraph")             , emit: bedgraph    , optional: true
    tuple val(meta), path("${prefix}.predictions.tsv")      , emit: predictions , optional: true
    tuple val(meta), path("${prefix}.vcf")                  , emit: vcf         , optional: true
    tuple val(meta), path("${prefix}.scores.tsv")           , emit: scores      , optional: true
    tuple val("${task.process}"), val('chordseq'), eval("chordseq --version | cut -d ' ' -f 2"), topic: versions, emit: versions_chordseq

    when:
    task.ext.when == null || task.ext.when

    script:
    def args = task.ext.args ?: ''
    prefix = task.ext.prefix ?: "${meta.id}"
    // Outputs of shards are staged beside their manifests, where chordseq finds them.
    // task.ext.args may add outputs that the shards have, such as { "--kraken ${meta.id}.kraken" },
    // and --cami-profile. With --output in it, as shards of other modules than classify need, it names all outputs:
    // { "--output ${meta.id}.npy --names ${meta.id}.names.tsv" } or { "--output ${meta.id}.vcf --tsv ${meta.id}.scores.tsv" }.
    def outputs = args =~ /--output[ =]/ ? '' : "--output ${prefix}.tsv --report ${prefix}.kreport --krona ${prefix}.krona.txt --summary ${prefix}.chordseq_summary.json"
    """
    chordseq merge \\
        ${outputs} \\
        ${args} \\
        ${manifests}
    """

    stub:
    prefix = task.ext.prefix ?: "${meta.id}"
    """
    touch ${prefix}.tsv ${prefix}.kreport ${prefix}.krona.txt ${prefix}.chordseq_summary.json
    """
}
