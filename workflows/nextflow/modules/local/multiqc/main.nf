// MultiQC with chordseq's plugin (workflows/multiqc), which nf-core's module does not have.
process CHORDSEQ_MULTIQC {
    label 'process_single'

    conda "${moduleDir}/environment.yml"

    input:
    path summaries

    output:
    path 'multiqc_report.html'     , emit: page
    path 'multiqc_report_data'     , emit: data
    tuple val("${task.process}"), val('multiqc'), eval("multiqc --version | sed 's/.* //'"), topic: versions, emit: versions_multiqc

    script:
    def args = task.ext.args ?: ''
    """
    multiqc --force --filename multiqc_report.html ${args} .
    """

    stub:
    """
    touch multiqc_report.html
    mkdir multiqc_report_data
    """
}
