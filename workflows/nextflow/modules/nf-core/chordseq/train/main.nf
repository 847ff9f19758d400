process CHORDSEQ_TRAIN {
    tag "$meta.id"
    label 'process_high'
    label 'process_gpu'

    conda "${moduleDir}/environment.yml"
    container "${ workflow.containerEngine in ['singularity', 'apptainer'] && !task.ext.singularity_pull_docker_container ?
        'https://depot.galaxyproject.org/singularity/chordseq:0.2.0--0':
        'quay.io/biocontainers/chordseq:0.2.0--0' }"

    input:
    tuple val(meta), path(sequences), path(labels)
    path init

    output:
    tuple val(meta), path("*.safetensors"), emit: model
    tuple val(meta), path("*.metrics.tsv"), emit: metrics
    tuple val("${task.process}"), val('chordseq'), eval("chordseq --version | cut -d ' ' -f 2"), topic: versions, emit: versions_chordseq

    when:
    task.ext.when == null || task.ext.when

    script:
    def args = task.ext.args ?: ''
    def prefix = task.ext.prefix ?: "${meta.id}"
    def device = task.accelerator ? 'cuda' : 'cpu'
    // Without a table of labels, they are in the headers: --label-key in task.ext.args.
    def labels_arg = labels ? "--labels ${labels}" : ''
    def init_arg = init ? "--init ${init}" : ''
    if ("${init}" == "${prefix}.safetensors") {
        error("CHORDSEQ_TRAIN: input and output have one name; set task.ext.prefix")
    }
    def input = [sequences].flatten().collect { f -> "-i ${f}" }.join(' ')
    """
    chordseq train \\
        -@ ${task.cpus} \\
        --device ${device} \\
        ${labels_arg} \\
        ${init_arg} \\
        --output ${prefix}.safetensors \\
        --metrics ${prefix}.metrics.tsv \\
        ${args} \\
        ${input}
    """

    stub:
    def prefix = task.ext.prefix ?: "${meta.id}"
    """
    touch ${prefix}.safetensors ${prefix}.metrics.tsv
    """
}
