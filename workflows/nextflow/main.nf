// main.nf - classify samples with chordseq, in shards, and report all samples with MultiQC.
//
//     nextflow run main.nf --input samples.tsv [--parts 4] [--model FILE] [--fasta FILE] [--extra='OPTIONS'] [--outdir results]

include { CHORDSEQ_CLASSIFY } from './modules/nf-core/chordseq/classify/main'
include { CHORDSEQ_MERGE    } from './modules/nf-core/chordseq/merge/main'
include { CHORDSEQ_MULTIQC  } from './modules/local/multiqc/main'

// The table of samples has the columns sample, sequences and, for pairs, mates; files are comma-separated.
def sample_of(row) {
    if (!row.sample || !(row.sample ==~ /[A-Za-z0-9][A-Za-z0-9._-]*/)) {
        error("${params.input}: '${row.sample}' cannot be a sample's name")
    }
    if (!row.sequences) {
        error("${params.input}: sample '${row.sample}' has no sequences")
    }
    def files = { text -> text ? text.split(',').collect { f -> file(f.trim(), checkIfExists: true) } : [] }
    def first = files(row.sequences)
    def second = files(row.mates)
    if (second && second.size() != first.size()) {
        error("${params.input}: sample '${row.sample}' has not as many files of mates as of sequences")
    }
    [[id: row.sample, single_end: !second], second ? [first, second].transpose().flatten() : first]
}

workflow {
    main:
    if (!params.input) {
        error('--input names no table of samples')
    }
    if (!(params.parts instanceof Integer) || params.parts < 1) {
        error("--parts ${params.parts}: a number from 1 on is needed")
    }
    model = params.model ? file(params.model, checkIfExists: true) : []
    // Of CRAM files.
    reference = params.fasta
        ? [[id: 'reference'], file(params.fasta, checkIfExists: true), files("${params.fasta}.{fai,gzi}")]
        : [[], [], []]
    samples = channel.fromPath(params.input, checkIfExists: true)
        .splitCsv(header: true, sep: '\t')
        .map { row -> sample_of(row) }
    parts = samples.combine(channel.of(1..params.parts))
        .multiMap { meta, reads, i ->
            input: [meta, reads]
            shard: "${i}/${params.parts}"
        }

    CHORDSEQ_CLASSIFY(parts.input, reference, model, parts.shard)

    CHORDSEQ_MERGE(
        CHORDSEQ_CLASSIFY.out.manifest.groupTuple(size: params.parts)
            .join(CHORDSEQ_CLASSIFY.out.tsv.groupTuple(size: params.parts))
    )
    CHORDSEQ_MULTIQC(CHORDSEQ_MERGE.out.summary.map { _meta, json -> json }.collect())

    publish:
    calls   = CHORDSEQ_MERGE.out.tsv
    reports = CHORDSEQ_MERGE.out.report
    krona   = CHORDSEQ_MERGE.out.krona
    summary = CHORDSEQ_MERGE.out.summary
    page    = CHORDSEQ_MULTIQC.out.page
}

output {
    calls   { path { meta, _f -> meta.id } }
    reports { path { meta, _f -> meta.id } }
    krona   { path { meta, _f -> meta.id } }
    summary { path { meta, _f -> meta.id } }
    page    { path 'multiqc' }
}
