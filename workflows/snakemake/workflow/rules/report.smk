# MultiQC report of all samples, with chordseq's plugin (../../../multiqc).


rule multiqc:
    input:
        expand("results/{sample}/{sample}.chordseq_summary.json", sample=samples),
    output:
        page="results/multiqc/multiqc_report.html",
        data=directory("results/multiqc/multiqc_report_data"),
    log:
        "logs/multiqc.log",
    params:
        extra=config["multiqc_extra"],
    resources:
        mem_mb=2000,
        runtime=30,
    shell:
        "multiqc --force --no-ansi --outdir results/multiqc --filename multiqc_report.html"
        " {params.extra} {input} > {log} 2>&1"
