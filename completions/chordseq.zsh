#compdef chordseq
# chordseq - completion for zsh, written by 'chordseq completion zsh'.

_chordseq()
{
    if (( CURRENT == 2 )); then
        compadd classify predict embed merge completion variant explain train pretrain eval simulate tokenize diplotype model factorize bench selftest help --help --version
        return
    fi
    local command=$words[2]
    shift words
    (( CURRENT-- ))
    case $command in
    classify) _arguments \
        '*-i[input file; '\''-'\'' is standard input]:FILE:_files' \
        '*--input[input file; '\''-'\'' is standard input]:FILE:_files' \
        '*--input-list[list of input files, one per line; '\''-'\'' is standard input]:FILE:_files' \
        '*--input-fmt[input format\: auto (by content), fasta, fastq, sam, bam or cram]:FORMAT:(auto fasta fastq sam bam cram)' \
        '*-T[FASTA file that CRAM input was compressed against]:FILE:_files' \
        '*--reference[FASTA file that CRAM input was compressed against]:FILE:_files' \
        '*-f[SAM, BAM, CRAM\: require all of these FLAG bits]:FLAGS:' \
        '*--require-flags[SAM, BAM, CRAM\: require all of these FLAG bits]:FLAGS:' \
        '*-F[SAM, BAM, CRAM\: exclude any of these FLAG bits]:FLAGS:' \
        '*--exclude-flags[SAM, BAM, CRAM\: exclude any of these FLAG bits]:FLAGS:' \
        '*-e[SAM, BAM, CRAM\: require this filter expression]:EXPR:' \
        '*--expr[SAM, BAM, CRAM\: require this filter expression]:EXPR:' \
        '*-r[BAM, CRAM\: restrict to NAME or NAME\:FROM-TO]:REGION:' \
        '*--region[BAM, CRAM\: restrict to NAME or NAME\:FROM-TO]:REGION:' \
        '*-R[BAM, CRAM\: restrict to the regions of this BED file]:FILE:_files' \
        '*--regions-file[BAM, CRAM\: restrict to the regions of this BED file]:FILE:_files' \
        '*-1[first mates of pairs, instead of -i]:FILE:_files' \
        '*--mates-1[first mates of pairs, instead of -i]:FILE:_files' \
        '*-2[second mates of pairs, in the same order]:FILE:_files' \
        '*--mates-2[second mates of pairs, in the same order]:FILE:_files' \
        '*--interleaved[mates alternate in the input]' \
        '*-m[model file, or name of a model that comes with chordseq, such as fast]:FILE:_files' \
        '*--model[model file, or name of a model that comes with chordseq, such as fast]:FILE:_files' \
        '*--strand[strands to read\: forward, both, max, weighted, or model (the model'\''s default)]:NAME:(model forward both max weighted)' \
        '*--long-sequence[sequences too long for the model or memory\: whole, window, error, cpu or fit]:NAME:(whole window error cpu fit)' \
        '*--window-length[window length in bases; 0\: the model'\''s maximum]:NUM:' \
        '*--window-overlap[minimum overlap of neighbouring windows, in bases]:NUM:' \
        '*--max-memory[memory limit for one sequence; 0\: free memory]:BYTES:' \
        '*--min-length[minimum sequence length in bases; 0\: one token]:NUM:' \
        '*--max-unknown[maximum share of letters other than A, C, G and T]:SHARE:' \
        '*--call[what to call\: class, taxon, or auto (taxon with the head tree)]:WHAT:(auto class taxon)' \
        '*--min-prob[minimum probability of a call; 0\: call all; auto\: the model'\''s thresholds]:NUM:' \
        '*--max-error[maximum estimated error rate of calls; auto\: the model'\''s]:RATE:' \
        '*--prior[shares of classes in the input, such as bacteria=0.95,plasmid=0.05, or auto (classify only); default\: equal]:CLASS=SHARE,...:' \
        '*--prior-file[the same from a file, as --shares writes it]:FILE:_files' \
        '*-o[output table (default\: standard output, unless another per-record output is given)]:FILE:_files' \
        '*--output[output table (default\: standard output, unless another per-record output is given)]:FILE:_files' \
        '*--all[add a probability column per class]' \
        '*--jsonl[JSON lines, one object per record]:FILE:_files' \
        '*--kraken[Kraken 2'\''s output format, a line per record]:FILE:_files' \
        '*--use-names[with --kraken, add names to taxids]' \
        '*--report[Kraken 2'\''s report format, a line per taxon]:FILE:_files' \
        '*--krona[counts and lineages for Krona'\''s ktImportText]:FILE:_files' \
        '*--shares[estimated share of each class among the records, for --prior-file]:FILE:_files' \
        '*--cami-binning[CAMI binning format]:FILE:_files' \
        '*--cami-profile[CAMI profiling format, abundance by bases]:FILE:_files' \
        '*--sample[sample name in CAMI formats and the summary]:NAME:' \
        '*--bam[input alignments, or unaligned sequences, with tags cl, cp, ct, cr]:FILE:_files' \
        '*-O[format of --bam\: auto (by its name), sam, bam or cram]:FORMAT:(auto sam bam cram)' \
        '*--output-fmt[format of --bam\: auto (by its name), sam, bam or cram]:FORMAT:(auto sam bam cram)' \
        '*--output-fmt-option[option for writing --bam, such as level=1; may be repeated]:OPT[=VAL]:' \
        '*-W[write an index beside --bam\: auto, bai, csi or off]' \
        '*--write-index[write an index beside --bam\: auto, bai, csi or off]' \
        '*--no-PG[with --bam, add no @PG line to the header]' \
        '*--split-dir[folder for a FASTA or FASTQ file per class, and one for unclassified records]:DIR:_files' \
        '*--split-gz[compress these files (BGZF, .gz)]' \
        '*--summary[run summary as JSON\: versions, model, options, counts (for MultiQC\: *chordseq_summary.json)]:FILE:_files' \
        '*--html[HTML report\: classes, reasons, probabilities, lengths]:FILE:_files' \
        '*--resume[checkpoint outputs; resume an interrupted run]' \
        '*--resume-every[with --resume, interval between checkpoints]:SECONDS:' \
        '*-@[total number of threads, also -t (default\: one per processor)]:NUM:' \
        '*--threads[total number of threads, also -t (default\: one per processor)]:NUM:' \
        '*--device[device\: cpu, cuda, cuda\:NUMBER,... or auto]:NAME:' \
        '*--precision[precision of matrix products\: fp32, tf32, bf16 or auto]:KIND:(auto fp32 tf32 bf16)' \
        '*-B[tokens per batch, or auto]:NUM:' \
        '*--batch-tokens[tokens per batch, or auto]:NUM:' \
        '*--chunks-in-flight[chunks of about 128 kilobases in the pipeline]:NUM:' \
        '*--check-finite[fail on non-finite predictions\: on or off]:WHEN:(off on)' \
        '*--shard[process the I-th of N parts of the input, such as 2/8]:I/N:' \
        '*--manifest[with --shard, manifest of this part for chordseq merge]:FILE:_files' \
        '*-q[no progress, no summary; repeat to print errors only]' \
        '*--quiet[no progress, no summary; repeat to print errors only]' \
        '*-v[more log messages; repeat for all]' \
        '*--verbose[more log messages; repeat for all]' \
        '*--verbosity[0\: silent, 1\: errors, 3\: warnings and summary, 4\: as -v, 5\: as -vv]:LEVEL:' \
        '*--force[also overwrite files of sequences, alignments or variants]' \
        '--help[list the options]' '*:file:_files' ;;
    predict) _arguments \
        '*-i[input file; '\''-'\'' is standard input]:FILE:_files' \
        '*--input[input file; '\''-'\'' is standard input]:FILE:_files' \
        '*--input-list[list of input files, one per line; '\''-'\'' is standard input]:FILE:_files' \
        '*--input-fmt[input format\: auto (by content), fasta, fastq, sam, bam or cram]:FORMAT:(auto fasta fastq sam bam cram)' \
        '*-T[FASTA file that CRAM input was compressed against]:FILE:_files' \
        '*--reference[FASTA file that CRAM input was compressed against]:FILE:_files' \
        '*-f[SAM, BAM, CRAM\: require all of these FLAG bits]:FLAGS:' \
        '*--require-flags[SAM, BAM, CRAM\: require all of these FLAG bits]:FLAGS:' \
        '*-F[SAM, BAM, CRAM\: exclude any of these FLAG bits]:FLAGS:' \
        '*--exclude-flags[SAM, BAM, CRAM\: exclude any of these FLAG bits]:FLAGS:' \
        '*-e[SAM, BAM, CRAM\: require this filter expression]:EXPR:' \
        '*--expr[SAM, BAM, CRAM\: require this filter expression]:EXPR:' \
        '*-r[BAM, CRAM\: restrict to NAME or NAME\:FROM-TO]:REGION:' \
        '*--region[BAM, CRAM\: restrict to NAME or NAME\:FROM-TO]:REGION:' \
        '*-R[BAM, CRAM\: restrict to the regions of this BED file]:FILE:_files' \
        '*--regions-file[BAM, CRAM\: restrict to the regions of this BED file]:FILE:_files' \
        '*-m[model file, or name of a model that comes with chordseq, such as fast]:FILE:_files' \
        '*--model[model file, or name of a model that comes with chordseq, such as fast]:FILE:_files' \
        '*--strand[strands to read\: forward, both, max, weighted, or model (the model'\''s default)]:NAME:(model forward both max weighted)' \
        '*--long-sequence[sequences too long for the model or memory\: whole, window, error, cpu or fit]:NAME:(whole window error cpu fit)' \
        '*--window-length[window length in bases; 0\: the model'\''s maximum]:NUM:' \
        '*--window-overlap[minimum overlap of neighbouring windows, in bases]:NUM:' \
        '*--max-memory[memory limit for one sequence; 0\: free memory]:BYTES:' \
        '*--min-length[minimum sequence length in bases; 0\: one token]:NUM:' \
        '*--max-unknown[maximum share of letters other than A, C, G and T]:SHARE:' \
        '*-o[output file; '\''-'\'' is standard output]:FILE:_files' \
        '*--output[output file; '\''-'\'' is standard output]:FILE:_files' \
        '*--format[output format\: bed, tsv, bedgraph or auto (by the name)]:FORMAT:(bed tsv bedgraph auto)' \
        '*--class[with bedgraph, class whose probability is written]:NAME:' \
        '*--switch-penalty[cost of a change of class, in nats; auto\: 3]:NUM:' \
        '*--prior[shares of classes in the input, such as bacteria=0.95,plasmid=0.05, or auto (classify only); default\: equal]:CLASS=SHARE,...:' \
        '*--prior-file[the same from a file, as --shares writes it]:FILE:_files' \
        '*-@[total number of threads, also -t (default\: one per processor)]:NUM:' \
        '*--threads[total number of threads, also -t (default\: one per processor)]:NUM:' \
        '*--device[device\: cpu, cuda, cuda\:NUMBER,... or auto]:NAME:' \
        '*--precision[precision of matrix products\: fp32, tf32, bf16 or auto]:KIND:(auto fp32 tf32 bf16)' \
        '*-B[tokens per batch, or auto]:NUM:' \
        '*--batch-tokens[tokens per batch, or auto]:NUM:' \
        '*--chunks-in-flight[chunks of about 128 kilobases in the pipeline]:NUM:' \
        '*--check-finite[fail on non-finite predictions\: on or off]:WHEN:(off on)' \
        '*--shard[process the I-th of N parts of the input, such as 2/8]:I/N:' \
        '*--manifest[with --shard, manifest of this part for chordseq merge]:FILE:_files' \
        '*-q[no progress, no summary; repeat to print errors only]' \
        '*--quiet[no progress, no summary; repeat to print errors only]' \
        '*-v[more log messages; repeat for all]' \
        '*--verbose[more log messages; repeat for all]' \
        '*--verbosity[0\: silent, 1\: errors, 3\: warnings and summary, 4\: as -v, 5\: as -vv]:LEVEL:' \
        '*--force[also overwrite files of sequences, alignments or variants]' \
        '--help[list the options]' '*:file:_files' ;;
    embed) _arguments \
        '*-i[input file; '\''-'\'' is standard input]:FILE:_files' \
        '*--input[input file; '\''-'\'' is standard input]:FILE:_files' \
        '*--input-list[list of input files, one per line; '\''-'\'' is standard input]:FILE:_files' \
        '*--input-fmt[input format\: auto (by content), fasta, fastq, sam, bam or cram]:FORMAT:(auto fasta fastq sam bam cram)' \
        '*-T[FASTA file that CRAM input was compressed against]:FILE:_files' \
        '*--reference[FASTA file that CRAM input was compressed against]:FILE:_files' \
        '*-f[SAM, BAM, CRAM\: require all of these FLAG bits]:FLAGS:' \
        '*--require-flags[SAM, BAM, CRAM\: require all of these FLAG bits]:FLAGS:' \
        '*-F[SAM, BAM, CRAM\: exclude any of these FLAG bits]:FLAGS:' \
        '*--exclude-flags[SAM, BAM, CRAM\: exclude any of these FLAG bits]:FLAGS:' \
        '*-e[SAM, BAM, CRAM\: require this filter expression]:EXPR:' \
        '*--expr[SAM, BAM, CRAM\: require this filter expression]:EXPR:' \
        '*-r[BAM, CRAM\: restrict to NAME or NAME\:FROM-TO]:REGION:' \
        '*--region[BAM, CRAM\: restrict to NAME or NAME\:FROM-TO]:REGION:' \
        '*-R[BAM, CRAM\: restrict to the regions of this BED file]:FILE:_files' \
        '*--regions-file[BAM, CRAM\: restrict to the regions of this BED file]:FILE:_files' \
        '*-1[first mates of pairs, instead of -i]:FILE:_files' \
        '*--mates-1[first mates of pairs, instead of -i]:FILE:_files' \
        '*-2[second mates of pairs, in the same order]:FILE:_files' \
        '*--mates-2[second mates of pairs, in the same order]:FILE:_files' \
        '*--interleaved[mates alternate in the input]' \
        '*-m[model file, or name of a model that comes with chordseq, such as fast]:FILE:_files' \
        '*--model[model file, or name of a model that comes with chordseq, such as fast]:FILE:_files' \
        '*--strand[strands to read\: forward, both, max, weighted, or model (the model'\''s default)]:NAME:(model forward both max weighted)' \
        '*--long-sequence[sequences too long for the model or memory\: whole, window, error, cpu or fit]:NAME:(whole window error cpu fit)' \
        '*--window-length[window length in bases; 0\: the model'\''s maximum]:NUM:' \
        '*--window-overlap[minimum overlap of neighbouring windows, in bases]:NUM:' \
        '*--max-memory[memory limit for one sequence; 0\: free memory]:BYTES:' \
        '*--min-length[minimum sequence length in bases; 0\: one token]:NUM:' \
        '*--max-unknown[maximum share of letters other than A, C, G and T]:SHARE:' \
        '*-o[output file; '\''-'\'' is standard output (tsv)]:FILE:_files' \
        '*--output[output file; '\''-'\'' is standard output (tsv)]:FILE:_files' \
        '*--format[output format\: npy, npz, tsv or auto (by the name)]:FORMAT:(auto npy npz tsv)' \
        '*--names[with npy or npz, table of row, name, length and reason (default\: the output'\''s name with .names.tsv)]:FILE:_files' \
        '*--vector[vector to write\: pooled or hidden]:KIND:(pooled hidden)' \
        '*-@[total number of threads, also -t (default\: one per processor)]:NUM:' \
        '*--threads[total number of threads, also -t (default\: one per processor)]:NUM:' \
        '*--device[device\: cpu, cuda, cuda\:NUMBER,... or auto]:NAME:' \
        '*--precision[precision of matrix products\: fp32, tf32, bf16 or auto]:KIND:(auto fp32 tf32 bf16)' \
        '*-B[tokens per batch, or auto]:NUM:' \
        '*--batch-tokens[tokens per batch, or auto]:NUM:' \
        '*--chunks-in-flight[chunks of about 128 kilobases in the pipeline]:NUM:' \
        '*--check-finite[fail on non-finite predictions\: on or off]:WHEN:(off on)' \
        '*--shard[process the I-th of N parts of the input, such as 2/8]:I/N:' \
        '*--manifest[with --shard, manifest of this part for chordseq merge]:FILE:_files' \
        '*-q[no progress, no summary; repeat to print errors only]' \
        '*--quiet[no progress, no summary; repeat to print errors only]' \
        '*-v[more log messages; repeat for all]' \
        '*--verbose[more log messages; repeat for all]' \
        '*--verbosity[0\: silent, 1\: errors, 3\: warnings and summary, 4\: as -v, 5\: as -vv]:LEVEL:' \
        '*--force[also overwrite files of sequences, alignments or variants]' \
        '--help[list the options]' '*:file:_files' ;;
    merge) _arguments \
        '*-o[merged --output; '\''-'\'' is standard output]:FILE:_files' \
        '*--output[merged --output; '\''-'\'' is standard output]:FILE:_files' \
        '*--names[embed\: table of names (default\: the output'\''s name with .names.tsv)]:FILE:_files' \
        '*--tsv[variant\: merged --tsv]:FILE:_files' \
        '*--jsonl[JSON lines, one object per record]:FILE:_files' \
        '*--kraken[Kraken 2'\''s output format, a line per record]:FILE:_files' \
        '*--report[Kraken 2'\''s report format, a line per taxon]:FILE:_files' \
        '*--krona[counts and lineages for Krona'\''s ktImportText]:FILE:_files' \
        '*--cami-binning[CAMI binning format]:FILE:_files' \
        '*--cami-profile[CAMI profiling format, abundance by bases]:FILE:_files' \
        '*--summary[run summary as JSON\: versions, model, options, counts (for MultiQC\: *chordseq_summary.json)]:FILE:_files' \
        '*-q[no progress, no summary; repeat to print errors only]' \
        '*--quiet[no progress, no summary; repeat to print errors only]' \
        '*-v[more log messages; repeat for all]' \
        '*--verbose[more log messages; repeat for all]' \
        '*--verbosity[0\: silent, 1\: errors, 3\: warnings and summary, 4\: as -v, 5\: as -vv]:LEVEL:' \
        '*--force[also overwrite files of sequences, alignments or variants]' \
        '--help[list the options]' '*:file:_files' ;;
    completion) _arguments \
        '*-q[no progress, no summary; repeat to print errors only]' \
        '*--quiet[no progress, no summary; repeat to print errors only]' \
        '*-v[more log messages; repeat for all]' \
        '*--verbose[more log messages; repeat for all]' \
        '*--verbosity[0\: silent, 1\: errors, 3\: warnings and summary, 4\: as -v, 5\: as -vv]:LEVEL:' \
        '*--force[also overwrite files of sequences, alignments or variants]' \
        '1:what:(bash zsh fish)' \
        '--help[list the options]' '*:file:_files' ;;
    variant) _arguments \
        '*-i[input VCF or BCF; '\''-'\'' is standard input]:FILE:_files' \
        '*--input[input VCF or BCF; '\''-'\'' is standard input]:FILE:_files' \
        '*-f[FASTA file that the variants refer to]:FILE:_files' \
        '*--reference[FASTA file that the variants refer to]:FILE:_files' \
        '*-r[restrict to contig, contig\:from or contig\:from-to (may be repeated)]:REGION:' \
        '*--region[restrict to contig, contig\:from or contig\:from-to (may be repeated)]:REGION:' \
        '*-R[restrict to the regions of this BED file]:FILE:_files' \
        '*--regions-file[restrict to the regions of this BED file]:FILE:_files' \
        '*--strict-contigs[refuse contigs whose names match the reference only without '\''chr'\'']' \
        '*--exons[exons as BED, GTF or GFF3\: predict variants with the nearest one]:FILE:_files' \
        '*-o[output file; '\''-'\'' is standard output]:FILE:_files' \
        '*--output[output file; '\''-'\'' is standard output]:FILE:_files' \
        '*-O[v\: VCF, z\: BGZF-compressed VCF, b\: BCF, u\: uncompressed BCF, or auto]:TYPE:(auto v z u b)' \
        '*--output-type[v\: VCF, z\: BGZF-compressed VCF, b\: BCF, u\: uncompressed BCF, or auto]:TYPE:(auto v z u b)' \
        '*-W[write an index beside the output\: auto, tbi, csi or off]' \
        '*--write-index[write an index beside the output\: auto, tbi, csi or off]' \
        '*--tsv[table with a row per alternative allele]:FILE:_files' \
        '*--html[HTML report\: distribution of scores, top variants, contributions of bases]:FILE:_files' \
        '*--summary[summary as JSON\: versions, model, options, counts, distribution of scores]:FILE:_files' \
        '*--prefix[prefix of INFO field names]:TEXT:' \
        '*--fields[INFO fields to write, comma-separated (default\: all)]:LIST:' \
        '*--no-version[omit version, command line and model from the header]' \
        '*--score[score\: model, embedding, llr, or auto (by the model)]:NAME:(auto model embedding llr)' \
        '*-w[window length in bases; 0\: that of the model'\''s training, or 1000]:NUM:' \
        '*--window-length[window length in bases; 0\: that of the model'\''s training, or 1000]:NUM:' \
        '*--ends[windows beyond the contig'\''s end\: skip the variant, or fill with N]:RULE:(skip fill)' \
        '*--circular[circular contig (may be repeated)]:CONTIG:' \
        '*--strand[strands to read\: forward, both, max, weighted, or model (the model'\''s default)]:NAME:(model forward both max weighted)' \
        '*--max-unknown[maximum share of unknown bases in a window]:SHARE:' \
        '*-m[model file, or name of a model that comes with chordseq, such as fast]:FILE:_files' \
        '*--model[model file, or name of a model that comes with chordseq, such as fast]:FILE:_files' \
        '*-@[total number of threads, also -t (default\: one per processor)]:NUM:' \
        '*--threads[total number of threads, also -t (default\: one per processor)]:NUM:' \
        '*--device[device\: cpu, cuda, cuda\:NUMBER,... or auto]:NAME:' \
        '*--precision[precision of matrix products\: fp32, tf32, bf16 or auto]:KIND:(auto fp32 tf32 bf16)' \
        '*-B[tokens per batch, or auto]:NUM:' \
        '*--batch-tokens[tokens per batch, or auto]:NUM:' \
        '*--chunks-in-flight[chunks of about 128 kilobases in the pipeline]:NUM:' \
        '*--check-finite[fail on non-finite predictions\: on or off]:WHEN:(off on)' \
        '*--shard[process the I-th of N parts of the input, such as 2/8]:I/N:' \
        '*--manifest[with --shard, manifest of this part for chordseq merge]:FILE:_files' \
        '*-q[no progress, no summary; repeat to print errors only]' \
        '*--quiet[no progress, no summary; repeat to print errors only]' \
        '*-v[more log messages; repeat for all]' \
        '*--verbose[more log messages; repeat for all]' \
        '*--verbosity[0\: silent, 1\: errors, 3\: warnings and summary, 4\: as -v, 5\: as -vv]:LEVEL:' \
        '*--force[also overwrite files of sequences, alignments or variants]' \
        '--help[list the options]' '*:file:_files' ;;
    explain) _arguments \
        '*-f[FASTA file with the sequences]:FILE:_files' \
        '*--reference[FASTA file with the sequences]:FILE:_files' \
        '*-r[region to explain\: contig, contig\:from or contig\:from-to (may be repeated)]:REGION:' \
        '*--region[region to explain\: contig, contig\:from or contig\:from-to (may be repeated)]:REGION:' \
        '*-R[regions to explain, as BED]:FILE:_files' \
        '*--regions-file[regions to explain, as BED]:FILE:_files' \
        '*-o[bedGraph output; '\''-'\'' is standard output]:FILE:_files' \
        '*--output[bedGraph output; '\''-'\'' is standard output]:FILE:_files' \
        '*--tsv[table with a row per base]:FILE:_files' \
        '*--svg[plot of the first region, letter heights show contributions]:FILE:_files' \
        '*--method[method\: mutagenesis, gradient, integrated or deeplift]:NAME:(mutagenesis gradient integrated deeplift)' \
        '*--baseline[baseline of the gradient methods\: unknown, zero or shuffled]:NAME:(unknown zero shuffled)' \
        '*--shuffles[number of shuffled baselines]:NUM:' \
        '*--seed[seed of shuffled baselines]:NUM:' \
        '*--label[label to explain (default\: the most probable, or the first of a regression)]:NAME:' \
        '*--value[with mutagenesis, quantity to compare\: logit or probability]:NAME:(logit probability)' \
        '*--steps[steps of integrated gradients]:NUM:' \
        '*-B[batch size of mutagenesis, in tokens]:NUM:' \
        '*--batch-tokens[batch size of mutagenesis, in tokens]:NUM:' \
        '*-m[model file, or name of a model that comes with chordseq, such as fast]:FILE:_files' \
        '*--model[model file, or name of a model that comes with chordseq, such as fast]:FILE:_files' \
        '*-@[total number of threads, also -t (default\: one per processor)]:NUM:' \
        '*--threads[total number of threads, also -t (default\: one per processor)]:NUM:' \
        '*--device[device\: cpu, cuda, cuda\:NUMBER,... or auto]:NAME:' \
        '*--precision[precision of matrix products\: fp32, tf32, bf16 or auto]:KIND:(auto fp32 tf32 bf16)' \
        '*-q[no progress, no summary; repeat to print errors only]' \
        '*--quiet[no progress, no summary; repeat to print errors only]' \
        '*-v[more log messages; repeat for all]' \
        '*--verbose[more log messages; repeat for all]' \
        '*--verbosity[0\: silent, 1\: errors, 3\: warnings and summary, 4\: as -v, 5\: as -vv]:LEVEL:' \
        '*--force[also overwrite files of sequences, alignments or variants]' \
        '--help[list the options]' '*:file:_files' ;;
    train) _arguments \
        '*-i[input file; '\''-'\'' is standard input]:FILE:_files' \
        '*--input[input file; '\''-'\'' is standard input]:FILE:_files' \
        '*--input-list[list of input files, one per line; '\''-'\'' is standard input]:FILE:_files' \
        '*--input-fmt[input format\: auto (by content), fasta, fastq, sam, bam or cram]:FORMAT:(auto fasta fastq sam bam cram)' \
        '*-T[FASTA file that CRAM input was compressed against]:FILE:_files' \
        '*--reference[FASTA file that CRAM input was compressed against]:FILE:_files' \
        '*-f[SAM, BAM, CRAM\: require all of these FLAG bits]:FLAGS:' \
        '*--require-flags[SAM, BAM, CRAM\: require all of these FLAG bits]:FLAGS:' \
        '*-F[SAM, BAM, CRAM\: exclude any of these FLAG bits]:FLAGS:' \
        '*--exclude-flags[SAM, BAM, CRAM\: exclude any of these FLAG bits]:FLAGS:' \
        '*-e[SAM, BAM, CRAM\: require this filter expression]:EXPR:' \
        '*--expr[SAM, BAM, CRAM\: require this filter expression]:EXPR:' \
        '*-r[BAM, CRAM\: restrict to NAME or NAME\:FROM-TO]:REGION:' \
        '*--region[BAM, CRAM\: restrict to NAME or NAME\:FROM-TO]:REGION:' \
        '*-R[BAM, CRAM\: restrict to the regions of this BED file]:FILE:_files' \
        '*--regions-file[BAM, CRAM\: restrict to the regions of this BED file]:FILE:_files' \
        '*--labels[table of record names and classes or values, TSV or CSV]:TSV:_files' \
        '*--label-key[the label follows '\''KEY='\'' in the record'\''s header line]:KEY:' \
        '*--class[class of all records of this file]:CLASS=FILE:_files' \
        '*--label-map[table of labels in the input and classes to use]:TSV:_files' \
        '*--intervals[table of intervals\: record, start, end, class]:BED:_files' \
        '*--background[class of all bases outside the intervals]:CLASS:' \
        '*--skip-unlabelled[skip records without a label instead of failing]' \
        '*--split[table of record names, parts (train, valid or skip) and optional groups]:TSV:_files' \
        '*--split-by[keep records with the same '\''KEY='\'' in their header on one side of the split]:KEY:' \
        '*--crop-min[shortest crop, in bases]:NUM:' \
        '*--crop-max[longest crop; 0\: whole sequences]:NUM:' \
        '*--crop-power[density of crop lengths is L^-NUM]:NUM:' \
        '*--samples-per-epoch[samples per epoch; 0\: every record once]:NUM:' \
        '*--class-balance[class sampling; 0\: by size, 1\: equally often]:NUM:' \
        '*--group-balance[group sampling within a class; 0\: by size, 1\: equally often]:NUM:' \
        '*--length-power[record sampling\: in proportion to length to this power]:NUM:' \
        '*--rc[reverse-complement half of the samples]' \
        '*--no-rc[keep the strand of all samples]' \
        '*--valid-frac[share of every class for validation]:NUM:' \
        '*--folds[cross-validation by NUM folds of groups, then training on all; 0\: none]:NUM:' \
        '*--valid-samples[validation samples; 0\: every record once]:NUM:' \
        '*--mutate[substitute up to this share of a sample'\''s bases]:RATE:' \
        '*--mutate-indels[insert or delete 1 to 3 bases at up to this share of positions]:RATE:' \
        '*--mutate-silent[change up to this share of codons to synonymous codons]:RATE:' \
        '*--mutate-share[share of the samples that are mutated]:NUM:' \
        '*-B[maximum tokens per batch]:NUM:' \
        '*--batch-tokens[maximum tokens per batch]:NUM:' \
        '*--step-records[samples per step; 0\: see --accumulate]:NUM:' \
        '*--accumulate[batches per step]:NUM:' \
        '*--optimizer[adam or adamw]:NAME:(adam adamw)' \
        '*--lr[learning rate]:NUM:' \
        '*--beta1[decay of the first moment]:NUM:' \
        '*--beta2[decay of the second moment]:NUM:' \
        '*--eps[term added to the root of the second moment]:NUM:' \
        '*--weight-decay[weight decay of all parameters]:NUM:' \
        '*--keep-zero-grad[also update tensors without a gradient in a step, after their first gradient]' \
        '*--schedule[constant, linear, cosine or polynomial decay to the last step]:NAME:(constant linear cosine polynomial)' \
        '*--warmup[steps of linear warm-up; below 1\: share of all steps]:NUM:' \
        '*--cycles[cycles of the cosine; 0.5 ends at zero]:NUM:' \
        '*--power[power of the polynomial decay]:NUM:' \
        '*--lr-end[learning rate at the end of the polynomial decay]:NUM:' \
        '*--clip[gradient norm clipping; 0\: none]:NUM:' \
        '*--ema[decay of averaged weights (EMA); 0\: no averaging]:NUM:' \
        '*--epochs[number of epochs]:NUM:' \
        '*--max-steps[maximum number of steps; 0\: those of --epochs]:NUM:' \
        '*--budget[training budget\: time (90s, 10m, 1h30m, 1d) or bases (500M)]:TIME|BASES:' \
        '*--patience[early stopping\: epochs without improvement; 0\: never]:NUM:' \
        '*--seed[random seed]:NUM:' \
        '*--preset[settings chosen from the data\: fast, balanced, best, none or auto]:NAME:(fast balanced best none auto)' \
        '*--print-config[print all settings of the run, one per line, and exit]' \
        '*--class-weights[class weights\: comma-separated numbers or CLASS=NUM, none or balanced]:LIST:' \
        '*--stop-at[stop once the validation metric reaches this; 0\: never]:NUM:' \
        '*--monitor[validation metric that selects the best model\: balanced-accuracy, loss or auto]:NAME:(auto balanced-accuracy loss)' \
        '*--tolerance[error below which a value is correct]:NUM:' \
        '*--no-standardize[do not standardize the values to predict]' \
        '*--proteins[add peptide words and proteins of this size to the trained model, e.g. 12M; 0\: none]:BYTES:' \
        '*--init[start from this model'\''s weights]:MODEL:_files' \
        '*--new-head[with --init, initialise the head anew, even if the classes are the same]' \
        '*--freeze[layers to freeze\: none or encoder]:PART:(none encoder)' \
        '*--freeze-epochs[freeze for these first epochs only\: probing, then fine-tuning]:NUM:' \
        '*--encoder-lr[with --init, factor on --lr for embedding and encoder]:FACTOR:' \
        '*--init-composition[initialise the composition path from this model]:MODEL:_files' \
        '*--composition-lr[factor on --lr for the composition path]:FACTOR:' \
        '*-o[output model; written whenever validation improves]:FILE:_files' \
        '*--output[output model; written whenever validation improves]:FILE:_files' \
        '*--metrics[table with one row per epoch]:FILE:_files' \
        '*--step-metrics[table with one row per step]:FILE:_files' \
        '*--tensorboard[add a TensorBoard event file to this folder]:DIR:' \
        '*--checkpoint[checkpoint, written after every epoch and at the end (default\: the model'\''s name with .ckpt)]:FILE:_files' \
        '*--checkpoint-steps[additional checkpoints every NUM steps]:NUM:' \
        '*--resume[resume from the checkpoint, with the same options and data]' \
        '*--stop-after[pause after this many steps of this run; 0\: never]:NUM:' \
        '*--max-time[pause after this time; 0\: never]:SECONDS:' \
        '*--ranks[number of training processes to start; env\: those of a launcher]:NUM:' \
        '*--ranks-timeout[time limit for a rank that does not respond; 0\: none]:SECONDS:' \
        '*--strand[default --strand stored in the model\: forward, both, max, weighted or auto]:NAME:(auto forward both max weighted)' \
        '*--html[HTML report of the validation, also while training]:FILE:_files' \
        '*--split-out[table of records and their parts (train or valid), for --split]:TSV:_files' \
        '*--checkpoint-blocks[number of block inputs to store (gradient checkpointing); auto\: all activations]:NUM:' \
        '*--recompute[store only the inputs of all blocks, and recompute the other activations]' \
        '*--taxonomy[table of taxa, or folder with NCBI'\''s taxonomy dump; stored in the model]:FILE:_files' \
        '*--taxa[with a taxonomy dump, table of taxa for classes with other names]:FILE:_files' \
        '*--lineage[labels are lineages separated by '\'';'\'', with these comma-separated ranks]:RANKS:' \
        '*--window-length[with head variant, window length around a variant, in bases]:NUM:' \
        '*--ends[windows beyond the contig'\''s end\: skip the variant, or fill with N]:RULE:(skip fill)' \
        '*--circular[circular contig (may be repeated)]:CONTIG:' \
        '*--exons[exons as BED, GTF or GFF3\: read the nearest one in upper case, other bases in lower]:FILE:_files' \
        '*-@[total number of threads, also -t (default\: one per processor)]:NUM:' \
        '*--threads[total number of threads, also -t (default\: one per processor)]:NUM:' \
        '*--device[device\: cpu, cuda, cuda\:NUMBER,... or auto]:NAME:' \
        '*--precision[precision of matrix products\: fp32, tf32, bf16 or auto]:KIND:(auto fp32 tf32 bf16)' \
        '*-q[no progress, no summary; repeat to print errors only]' \
        '*--quiet[no progress, no summary; repeat to print errors only]' \
        '*-v[more log messages; repeat for all]' \
        '*--verbose[more log messages; repeat for all]' \
        '*--verbosity[0\: silent, 1\: errors, 3\: warnings and summary, 4\: as -v, 5\: as -vv]:LEVEL:' \
        '*--force[also overwrite files of sequences, alignments or variants]' \
        '*--tokenizer[tokenizer]:NAME:(base kmer codon orf frames bpe diplotype)' \
        '*--encoder[encoder]:NAME:(chordmixer transformer linformer lowrank fkernel singularformer cdil psf paramixer)' \
        '*--head[head\: kind of prediction]:NAME:(class tree multilabel regress token variant)' \
        '*--tokenizer.case[lower-case bases are tokens of their own]' \
        '*--tokenizer.k[bases per token]:NUM:' \
        '*--tokenizer.stride[bases from one token to the next]:NUM:' \
        '*--tokenizer.canonical[map a word and its reverse complement to the same token]' \
        '*--tokenizer.k[bases per k-mer]:NUM:' \
        '*--tokenizer.min-codons[minimum codons of an open reading frame]:NUM:' \
        '*--tokenizer.gap[maximum distance of the amino acids of a pair, in codons]:NUM:' \
        '*--tokenizer.min-codons[minimum codons of an open reading frame]:NUM:' \
        '*--tokenizer.file[vocabulary and merges, as tokenizer.json]:FILE:_files' \
        '*--encoder.max-len[maximum tokens of a sequence]:NUM:' \
        '*--encoder.track[channels per track]:NUM:' \
        '*--encoder.hidden[hidden units of each block]:NUM:' \
        '*--encoder.norm[normalisation after the residual\: none, layer, batch or group]:KIND:(none layer batch group)' \
        '*--encoder.prenorm[normalisation before the first linear layer]:KIND:(none layer batch group)' \
        '*--encoder.dropout[dropout rate of hidden units]:RATE:' \
        '*--encoder.depth[blocks per sequence\: own (by its length), all or none]:RULE:(own all none)' \
        '*--encoder.init[initial weights of the second linear layers\: xavier or identity]:RULE:(xavier identity)' \
        '*--encoder.reversible[reversible blocks of two halves\: training memory does not grow with their number]' \
        '*--encoder.dim[channels of a token]:NUM:' \
        '*--encoder.heads[attention heads; must divide the number of channels]:NUM:' \
        '*--encoder.layers[layers, each attention and a feed-forward network]:NUM:' \
        '*--encoder.hidden[hidden units of the feed-forward networks]:NUM:' \
        '*--encoder.norm[layer normalisation after the residual (post) or before (pre)]:PLACE:(post pre)' \
        '*--encoder.act[activation of the feed-forward networks\: gelu or relu]:KIND:(gelu relu)' \
        '*--encoder.position[positions added to the tokens\: none, sinusoid or learned]:KIND:(none sinusoid learned)' \
        '*--encoder.max-len[maximum tokens of a sequence if positions are added]:NUM:' \
        '*--encoder.dropout[dropout rate]:RATE:' \
        '*--encoder.max-len[maximum tokens of a sequence]:NUM:' \
        '*--encoder.dim[channels of a token]:NUM:' \
        '*--encoder.heads[attention heads]:NUM:' \
        '*--encoder.head[channels of a head; 0\: those of a token, divided by the number of heads]:NUM:' \
        '*--encoder.layers[layers, each attention and a feed-forward network]:NUM:' \
        '*--encoder.hidden[hidden units of the feed-forward networks]:NUM:' \
        '*--encoder.k[number of projected keys and values]:NUM:' \
        '*--encoder.norm[layer normalisation before the residual (pre) or after (post)]:PLACE:(pre post)' \
        '*--encoder.act[activation of the feed-forward networks\: gelu or relu]:KIND:(gelu relu)' \
        '*--encoder.values[values\: own, or equal to the keys (keys)]:KIND:(own keys)' \
        '*--encoder.kv-heads[keys and values\: of every head (all), or of one head that all share (one)]:KIND:(all one)' \
        '*--encoder.position[position embedding\: learned or none]:KIND:(learned none)' \
        '*--encoder.dropout[dropout rate]:RATE:' \
        '*--encoder.max-len[maximum tokens of a sequence if positions are added]:NUM:' \
        '*--encoder.input[channels of the embedded input; 0\: those of a token]:NUM:' \
        '*--encoder.dim[channels of a token]:NUM:' \
        '*--encoder.heads[attention heads]:NUM:' \
        '*--encoder.key[channels of a head'\''s queries and keys; 0\: those of a token, divided by the number of heads]:NUM:' \
        '*--encoder.value[channels of a head'\''s values; 0\: as key]:NUM:' \
        '*--encoder.layers[layers, each attention and a feed-forward network]:NUM:' \
        '*--encoder.hidden[hidden units of the feed-forward networks]:NUM:' \
        '*--encoder.rank[rank of the factorised layers]:NUM:' \
        '*--encoder.form[the authors'\'' code, or the paper'\''s equations]:KIND:(code paper)' \
        '*--encoder.factor[which layers are factorised\: all, or attention only]:WHICH:(all attention)' \
        '*--encoder.position[position embedding\: sinusoid or none]:KIND:(sinusoid none)' \
        '*--encoder.dropout[dropout rate]:RATE:' \
        '*--encoder.dim[channels of a token]:NUM:' \
        '*--encoder.heads[attention heads; must divide the number of channels]:NUM:' \
        '*--encoder.layers[layers, each attention and a feed-forward network]:NUM:' \
        '*--encoder.hidden[hidden units of the feed-forward networks]:NUM:' \
        '*--encoder.kernel[kernel features\: linear (softplus), glu (gated) or aglu (low-rank gates)]:KIND:(linear glu aglu)' \
        '*--encoder.units[gated units in sequence]:NUM:' \
        '*--encoder.rank[rank of aglu'\''s gates]:NUM:' \
        '*--encoder.features[feature weights per head (own), or shared by all heads (shared)]:KIND:(own shared)' \
        '*--encoder.ortho[loss weight of the orthogonality penalty of feature weights]:NUM:' \
        '*--encoder.position[positions added to the tokens\: none, sinusoid or learned]:KIND:(none sinusoid learned)' \
        '*--encoder.max-len[maximum tokens of a sequence if positions are added]:NUM:' \
        '*--encoder.dropout[dropout rate]:RATE:' \
        '*--encoder.max-len[maximum tokens of a sequence if positions are added]:NUM:' \
        '*--encoder.dim[channels of a token]:NUM:' \
        '*--encoder.heads[attention heads]:NUM:' \
        '*--encoder.head[channels of a head; 0\: those of a token, divided by the number of heads]:NUM:' \
        '*--encoder.layers[layers, each attention and a feed-forward network]:NUM:' \
        '*--encoder.hidden[hidden units of the feed-forward networks]:NUM:' \
        '*--encoder.rank[number of weighted sums of tokens; attention is among these sums]:NUM:' \
        '*--encoder.gamma[loss weight of the regularisers]:NUM:' \
        '*--encoder.penalty[regularisers of the authors'\'' code, or of the paper]:KIND:(code paper)' \
        '*--encoder.scores[scores divided by the root of a head'\''s channels (scaled), or not (plain)]:KIND:(scaled plain)' \
        '*--encoder.position[position embedding\: sinusoid (scaled by a third) or none]:KIND:(sinusoid none)' \
        '*--encoder.dropout[dropout rate]:RATE:' \
        '*--encoder.max-len[receptive field of the layers, in tokens]:NUM:' \
        '*--encoder.layers[layers of a stack; 0\: by max-len]:NUM:' \
        '*--encoder.depth[layers per sequence\: own (by its length) or all]:RULE:(own all)' \
        '*--encoder.channels[channels, or those of every layer\: 8,12,16,16]:LIST:' \
        '*--encoder.decoder[channels of a second stack after the first; 0\: none]:LIST:' \
        '*--encoder.input[channels of the embedded input; 0\: those of the first layer]:NUM:' \
        '*--encoder.groups[groups of channels, each an independent network]:NUM:' \
        '*--encoder.kernel[kernel size, an odd number]:NUM:' \
        '*--encoder.dilation[dilation of the first layer; it doubles with every layer]:NUM:' \
        '*--encoder.convs[convolutions of a layer\: two (CDIL for DNA) or one (CDIL-CNN)]:NUM:(two one)' \
        '*--encoder.hidden[channels between the two convolutions; 0\: twice those of the stack'\''s first layer]:NUM:' \
        '*--encoder.norm[normalisation\: none, weight (CDIL-CNN), batch (CDIL for DNA) or layer]:KIND:(none weight batch layer)' \
        '*--encoder.dropout[dropout rate of a convolution'\''s outputs]:RATE:' \
        '*--encoder.max-len[maximum tokens of a sequence]:NUM:' \
        '*--encoder.factors[factors per sequence; 0\: ceil(log2 N) for N tokens]:NUM:' \
        '*--encoder.input[channels of the embedded input; 0\: as channels]:NUM:' \
        '*--encoder.channels[channels of a token'\''s vector]:NUM:' \
        '*--encoder.hidden[hidden units of the factor networks]:NUM:' \
        '*--encoder.g-hidden[hidden units of the value network; 0\: as hidden]:NUM:' \
        '*--encoder.residual[residual added after every factor\: first, last or none]:KIND:(first last none)' \
        '*--encoder.position[position embedding\: none or learned]:KIND:(none learned)' \
        '*--encoder.dropout[dropout rate of the input]:RATE:' \
        '*--encoder.max-len[maximum tokens of a sequence]:NUM:' \
        '*--encoder.layers[layers, each with its own factors]:NUM:' \
        '*--encoder.factors[factors per layer; 0\: ceil(log2 N) for N tokens]:NUM:' \
        '*--encoder.protocol[links between tokens\: chord or cdil]:KIND:(chord cdil)' \
        '*--encoder.channels[channels of a token'\''s vector]:NUM:' \
        '*--encoder.hidden[hidden units of the factor networks]:NUM:' \
        '*--encoder.residual[residual added after every factor\: last, first or none]:KIND:(last first none)' \
        '*--encoder.position[position embedding\: none or learned]:KIND:(none learned)' \
        '*--encoder.dropout[dropout rate of the input]:RATE:' \
        '*--head.predictor[layers between encoder and pooling\: none or cdil]:KIND:(none cdil)' \
        '*--head.predictor-norm[normalisation in the predictor\: none, weight, batch or layer]:KIND:(none weight batch layer)' \
        '*--head.predictor-layers[layers of the predictor]:NUM:' \
        '*--head.predictor-kernel[kernel size of the predictor, an odd number]:NUM:' \
        '*--head.predictor-channels[channels of the predictor'\''s layers; 0\: those of the encoder]:NUM:' \
        '*--head.pool[pooling over tokens\: mean, cls, centre, max, lse, attention, or several\: mean+max]:KIND:' \
        '*--head.centre[with pool centre, number of middle tokens; all of a shorter sequence]:NUM:' \
        '*--head.norm[normalisation of the pooled vector]:KIND:(none layer)' \
        '*--head.hidden[hidden units between pooled vector and output; 0\: none]:NUM:' \
        '*--head.dropout[dropout rate of these hidden units]:RATE:' \
        '*--head.compare[head variant\: vectors to subtract, pooled, hidden or context]:WHAT:(pooled hidden context)' \
        '*--head.ancestors[head tree\: total weight of the ancestors of a class in the loss]:NUM:' \
        '*--head.composition[add a composition path over counts of words of this many bases; 0\: none]:NUM:' \
        '*--head.composition-channels[composition path\: channels of a word]:NUM:' \
        '*--head.composition-hidden[composition path\: hidden units]:NUM:' \
        '*--head.composition-dropout[composition path\: dropout rate of hidden units]:RATE:' \
        '*--head.composition-skip[share of training batches without the composition path]:RATE:' \
        '--help[list the options]' '*:file:_files' ;;
    pretrain) _arguments \
        '*-i[FASTA with an index (samtools faidx), or diplotype text; plain or BGZF]:FILE:_files' \
        '*--input[FASTA with an index (samtools faidx), or diplotype text; plain or BGZF]:FILE:_files' \
        '*--window[maximum bases per window]:NUM:' \
        '*--window-min[minimum window length; 0\: all windows have --window bases]:NUM:' \
        '*--windows-per-epoch[windows per epoch; 0\: the whole genome once]:NUM:' \
        '*--max-unknown[maximum share of letters other than A, C, G, T in a window]:SHARE:' \
        '*--rc[reverse-complement half of the windows]' \
        '*--skip-contigs[contigs to exclude, comma-separated]:LIST:' \
        '*--val-contigs[contigs for validation, comma-separated]:LIST:' \
        '*--val-regions[regions for validation, as BED]:BED:_files' \
        '*--valid-frac[share of the genome for validation, in blocks of at most 64 windows]:NUM:' \
        '*--valid-windows[validation windows; 0\: all]:NUM:' \
        '*--mask-ratio[share of tokens to predict]:NUM:' \
        '*--mask-span[length of a run of masked tokens]:NUM:' \
        '*--mask-hide[share of selected tokens that are masked]:NUM:' \
        '*--mask-swap[share of selected tokens replaced by random ones; the rest stay unchanged]:NUM:' \
        '*--decoder[decoder\: linear, or light (convolutions of half the width)]:NAME:(linear light)' \
        '*--decoder-layers[layers of the light decoder]:NUM:' \
        '*--init[start from this pretrained model'\''s weights]:MODEL:_files' \
        '*-B[maximum tokens per batch]:NUM:' \
        '*--batch-tokens[maximum tokens per batch]:NUM:' \
        '*--step-records[samples per step; 0\: see --accumulate]:NUM:' \
        '*--accumulate[batches per step]:NUM:' \
        '*--optimizer[adam or adamw]:NAME:(adam adamw)' \
        '*--lr[learning rate]:NUM:' \
        '*--beta1[decay of the first moment]:NUM:' \
        '*--beta2[decay of the second moment]:NUM:' \
        '*--eps[term added to the root of the second moment]:NUM:' \
        '*--weight-decay[weight decay of all parameters]:NUM:' \
        '*--keep-zero-grad[also update tensors without a gradient in a step, after their first gradient]' \
        '*--schedule[constant, linear, cosine or polynomial decay to the last step]:NAME:(constant linear cosine polynomial)' \
        '*--warmup[steps of linear warm-up; below 1\: share of all steps]:NUM:' \
        '*--cycles[cycles of the cosine; 0.5 ends at zero]:NUM:' \
        '*--power[power of the polynomial decay]:NUM:' \
        '*--lr-end[learning rate at the end of the polynomial decay]:NUM:' \
        '*--clip[gradient norm clipping; 0\: none]:NUM:' \
        '*--ema[decay of averaged weights (EMA); 0\: no averaging]:NUM:' \
        '*--epochs[number of epochs]:NUM:' \
        '*--max-steps[maximum number of steps; 0\: those of --epochs]:NUM:' \
        '*--budget[training budget\: time (90s, 10m, 1h30m, 1d) or bases (500M)]:TIME|BASES:' \
        '*--patience[early stopping\: epochs without improvement; 0\: never]:NUM:' \
        '*--seed[random seed]:NUM:' \
        '*-o[output model; written whenever validation improves]:FILE:_files' \
        '*--output[output model; written whenever validation improves]:FILE:_files' \
        '*--metrics[table with one row per epoch]:FILE:_files' \
        '*--step-metrics[table with one row per step]:FILE:_files' \
        '*--tensorboard[add a TensorBoard event file to this folder]:DIR:' \
        '*--checkpoint[checkpoint, written after every epoch and at the end (default\: the model'\''s name with .ckpt)]:FILE:_files' \
        '*--checkpoint-steps[additional checkpoints every NUM steps]:NUM:' \
        '*--resume[resume from the checkpoint, with the same options and data]' \
        '*--stop-after[pause after this many steps of this run; 0\: never]:NUM:' \
        '*--max-time[pause after this time; 0\: never]:SECONDS:' \
        '*--ranks[number of training processes to start; env\: those of a launcher]:NUM:' \
        '*--ranks-timeout[time limit for a rank that does not respond; 0\: none]:SECONDS:' \
        '*--checkpoint-blocks[number of block inputs to store (gradient checkpointing); auto\: all activations]:NUM:' \
        '*--recompute[store only the inputs of all blocks, and recompute the other activations]' \
        '*-@[total number of threads, also -t (default\: one per processor)]:NUM:' \
        '*--threads[total number of threads, also -t (default\: one per processor)]:NUM:' \
        '*--device[device\: cpu, cuda, cuda\:NUMBER,... or auto]:NAME:' \
        '*--precision[precision of matrix products\: fp32, tf32, bf16 or auto]:KIND:(auto fp32 tf32 bf16)' \
        '*-q[no progress, no summary; repeat to print errors only]' \
        '*--quiet[no progress, no summary; repeat to print errors only]' \
        '*-v[more log messages; repeat for all]' \
        '*--verbose[more log messages; repeat for all]' \
        '*--verbosity[0\: silent, 1\: errors, 3\: warnings and summary, 4\: as -v, 5\: as -vv]:LEVEL:' \
        '*--force[also overwrite files of sequences, alignments or variants]' \
        '*--tokenizer[tokenizer]:NAME:(base kmer codon orf frames bpe diplotype)' \
        '*--encoder[encoder]:NAME:(chordmixer transformer linformer lowrank fkernel singularformer cdil psf paramixer)' \
        '*--tokenizer.case[lower-case bases are tokens of their own]' \
        '*--tokenizer.k[bases per token]:NUM:' \
        '*--tokenizer.stride[bases from one token to the next]:NUM:' \
        '*--tokenizer.canonical[map a word and its reverse complement to the same token]' \
        '*--tokenizer.k[bases per k-mer]:NUM:' \
        '*--tokenizer.min-codons[minimum codons of an open reading frame]:NUM:' \
        '*--tokenizer.gap[maximum distance of the amino acids of a pair, in codons]:NUM:' \
        '*--tokenizer.min-codons[minimum codons of an open reading frame]:NUM:' \
        '*--tokenizer.file[vocabulary and merges, as tokenizer.json]:FILE:_files' \
        '*--encoder.max-len[maximum tokens of a sequence]:NUM:' \
        '*--encoder.track[channels per track]:NUM:' \
        '*--encoder.hidden[hidden units of each block]:NUM:' \
        '*--encoder.norm[normalisation after the residual\: none, layer, batch or group]:KIND:(none layer batch group)' \
        '*--encoder.prenorm[normalisation before the first linear layer]:KIND:(none layer batch group)' \
        '*--encoder.dropout[dropout rate of hidden units]:RATE:' \
        '*--encoder.depth[blocks per sequence\: own (by its length), all or none]:RULE:(own all none)' \
        '*--encoder.init[initial weights of the second linear layers\: xavier or identity]:RULE:(xavier identity)' \
        '*--encoder.reversible[reversible blocks of two halves\: training memory does not grow with their number]' \
        '*--encoder.dim[channels of a token]:NUM:' \
        '*--encoder.heads[attention heads; must divide the number of channels]:NUM:' \
        '*--encoder.layers[layers, each attention and a feed-forward network]:NUM:' \
        '*--encoder.hidden[hidden units of the feed-forward networks]:NUM:' \
        '*--encoder.norm[layer normalisation after the residual (post) or before (pre)]:PLACE:(post pre)' \
        '*--encoder.act[activation of the feed-forward networks\: gelu or relu]:KIND:(gelu relu)' \
        '*--encoder.position[positions added to the tokens\: none, sinusoid or learned]:KIND:(none sinusoid learned)' \
        '*--encoder.max-len[maximum tokens of a sequence if positions are added]:NUM:' \
        '*--encoder.dropout[dropout rate]:RATE:' \
        '*--encoder.max-len[maximum tokens of a sequence]:NUM:' \
        '*--encoder.dim[channels of a token]:NUM:' \
        '*--encoder.heads[attention heads]:NUM:' \
        '*--encoder.head[channels of a head; 0\: those of a token, divided by the number of heads]:NUM:' \
        '*--encoder.layers[layers, each attention and a feed-forward network]:NUM:' \
        '*--encoder.hidden[hidden units of the feed-forward networks]:NUM:' \
        '*--encoder.k[number of projected keys and values]:NUM:' \
        '*--encoder.norm[layer normalisation before the residual (pre) or after (post)]:PLACE:(pre post)' \
        '*--encoder.act[activation of the feed-forward networks\: gelu or relu]:KIND:(gelu relu)' \
        '*--encoder.values[values\: own, or equal to the keys (keys)]:KIND:(own keys)' \
        '*--encoder.kv-heads[keys and values\: of every head (all), or of one head that all share (one)]:KIND:(all one)' \
        '*--encoder.position[position embedding\: learned or none]:KIND:(learned none)' \
        '*--encoder.dropout[dropout rate]:RATE:' \
        '*--encoder.max-len[maximum tokens of a sequence if positions are added]:NUM:' \
        '*--encoder.input[channels of the embedded input; 0\: those of a token]:NUM:' \
        '*--encoder.dim[channels of a token]:NUM:' \
        '*--encoder.heads[attention heads]:NUM:' \
        '*--encoder.key[channels of a head'\''s queries and keys; 0\: those of a token, divided by the number of heads]:NUM:' \
        '*--encoder.value[channels of a head'\''s values; 0\: as key]:NUM:' \
        '*--encoder.layers[layers, each attention and a feed-forward network]:NUM:' \
        '*--encoder.hidden[hidden units of the feed-forward networks]:NUM:' \
        '*--encoder.rank[rank of the factorised layers]:NUM:' \
        '*--encoder.form[the authors'\'' code, or the paper'\''s equations]:KIND:(code paper)' \
        '*--encoder.factor[which layers are factorised\: all, or attention only]:WHICH:(all attention)' \
        '*--encoder.position[position embedding\: sinusoid or none]:KIND:(sinusoid none)' \
        '*--encoder.dropout[dropout rate]:RATE:' \
        '*--encoder.dim[channels of a token]:NUM:' \
        '*--encoder.heads[attention heads; must divide the number of channels]:NUM:' \
        '*--encoder.layers[layers, each attention and a feed-forward network]:NUM:' \
        '*--encoder.hidden[hidden units of the feed-forward networks]:NUM:' \
        '*--encoder.kernel[kernel features\: linear (softplus), glu (gated) or aglu (low-rank gates)]:KIND:(linear glu aglu)' \
        '*--encoder.units[gated units in sequence]:NUM:' \
        '*--encoder.rank[rank of aglu'\''s gates]:NUM:' \
        '*--encoder.features[feature weights per head (own), or shared by all heads (shared)]:KIND:(own shared)' \
        '*--encoder.ortho[loss weight of the orthogonality penalty of feature weights]:NUM:' \
        '*--encoder.position[positions added to the tokens\: none, sinusoid or learned]:KIND:(none sinusoid learned)' \
        '*--encoder.max-len[maximum tokens of a sequence if positions are added]:NUM:' \
        '*--encoder.dropout[dropout rate]:RATE:' \
        '*--encoder.max-len[maximum tokens of a sequence if positions are added]:NUM:' \
        '*--encoder.dim[channels of a token]:NUM:' \
        '*--encoder.heads[attention heads]:NUM:' \
        '*--encoder.head[channels of a head; 0\: those of a token, divided by the number of heads]:NUM:' \
        '*--encoder.layers[layers, each attention and a feed-forward network]:NUM:' \
        '*--encoder.hidden[hidden units of the feed-forward networks]:NUM:' \
        '*--encoder.rank[number of weighted sums of tokens; attention is among these sums]:NUM:' \
        '*--encoder.gamma[loss weight of the regularisers]:NUM:' \
        '*--encoder.penalty[regularisers of the authors'\'' code, or of the paper]:KIND:(code paper)' \
        '*--encoder.scores[scores divided by the root of a head'\''s channels (scaled), or not (plain)]:KIND:(scaled plain)' \
        '*--encoder.position[position embedding\: sinusoid (scaled by a third) or none]:KIND:(sinusoid none)' \
        '*--encoder.dropout[dropout rate]:RATE:' \
        '*--encoder.max-len[receptive field of the layers, in tokens]:NUM:' \
        '*--encoder.layers[layers of a stack; 0\: by max-len]:NUM:' \
        '*--encoder.depth[layers per sequence\: own (by its length) or all]:RULE:(own all)' \
        '*--encoder.channels[channels, or those of every layer\: 8,12,16,16]:LIST:' \
        '*--encoder.decoder[channels of a second stack after the first; 0\: none]:LIST:' \
        '*--encoder.input[channels of the embedded input; 0\: those of the first layer]:NUM:' \
        '*--encoder.groups[groups of channels, each an independent network]:NUM:' \
        '*--encoder.kernel[kernel size, an odd number]:NUM:' \
        '*--encoder.dilation[dilation of the first layer; it doubles with every layer]:NUM:' \
        '*--encoder.convs[convolutions of a layer\: two (CDIL for DNA) or one (CDIL-CNN)]:NUM:(two one)' \
        '*--encoder.hidden[channels between the two convolutions; 0\: twice those of the stack'\''s first layer]:NUM:' \
        '*--encoder.norm[normalisation\: none, weight (CDIL-CNN), batch (CDIL for DNA) or layer]:KIND:(none weight batch layer)' \
        '*--encoder.dropout[dropout rate of a convolution'\''s outputs]:RATE:' \
        '*--encoder.max-len[maximum tokens of a sequence]:NUM:' \
        '*--encoder.factors[factors per sequence; 0\: ceil(log2 N) for N tokens]:NUM:' \
        '*--encoder.input[channels of the embedded input; 0\: as channels]:NUM:' \
        '*--encoder.channels[channels of a token'\''s vector]:NUM:' \
        '*--encoder.hidden[hidden units of the factor networks]:NUM:' \
        '*--encoder.g-hidden[hidden units of the value network; 0\: as hidden]:NUM:' \
        '*--encoder.residual[residual added after every factor\: first, last or none]:KIND:(first last none)' \
        '*--encoder.position[position embedding\: none or learned]:KIND:(none learned)' \
        '*--encoder.dropout[dropout rate of the input]:RATE:' \
        '*--encoder.max-len[maximum tokens of a sequence]:NUM:' \
        '*--encoder.layers[layers, each with its own factors]:NUM:' \
        '*--encoder.factors[factors per layer; 0\: ceil(log2 N) for N tokens]:NUM:' \
        '*--encoder.protocol[links between tokens\: chord or cdil]:KIND:(chord cdil)' \
        '*--encoder.channels[channels of a token'\''s vector]:NUM:' \
        '*--encoder.hidden[hidden units of the factor networks]:NUM:' \
        '*--encoder.residual[residual added after every factor\: last, first or none]:KIND:(last first none)' \
        '*--encoder.position[position embedding\: none or learned]:KIND:(none learned)' \
        '*--encoder.dropout[dropout rate of the input]:RATE:' \
        '--help[list the options]' '*:file:_files' ;;
    eval) _arguments \
        '*-i[input file; '\''-'\'' is standard input]:FILE:_files' \
        '*--input[input file; '\''-'\'' is standard input]:FILE:_files' \
        '*--input-list[list of input files, one per line; '\''-'\'' is standard input]:FILE:_files' \
        '*--input-fmt[input format\: auto (by content), fasta, fastq, sam, bam or cram]:FORMAT:(auto fasta fastq sam bam cram)' \
        '*-T[FASTA file that CRAM input was compressed against]:FILE:_files' \
        '*--reference[FASTA file that CRAM input was compressed against]:FILE:_files' \
        '*-f[SAM, BAM, CRAM\: require all of these FLAG bits]:FLAGS:' \
        '*--require-flags[SAM, BAM, CRAM\: require all of these FLAG bits]:FLAGS:' \
        '*-F[SAM, BAM, CRAM\: exclude any of these FLAG bits]:FLAGS:' \
        '*--exclude-flags[SAM, BAM, CRAM\: exclude any of these FLAG bits]:FLAGS:' \
        '*-e[SAM, BAM, CRAM\: require this filter expression]:EXPR:' \
        '*--expr[SAM, BAM, CRAM\: require this filter expression]:EXPR:' \
        '*-r[BAM, CRAM\: restrict to NAME or NAME\:FROM-TO]:REGION:' \
        '*--region[BAM, CRAM\: restrict to NAME or NAME\:FROM-TO]:REGION:' \
        '*-R[BAM, CRAM\: restrict to the regions of this BED file]:FILE:_files' \
        '*--regions-file[BAM, CRAM\: restrict to the regions of this BED file]:FILE:_files' \
        '*--labels[table of record names and classes or values, TSV or CSV]:TSV:_files' \
        '*--label-key[the label follows '\''KEY='\'' in the record'\''s header line]:KEY:' \
        '*--class[class of all records of this file]:CLASS=FILE:_files' \
        '*--label-map[table of labels in the input and classes to use]:TSV:_files' \
        '*--intervals[table of intervals\: record, start, end, class]:BED:_files' \
        '*--background[class of all bases outside the intervals]:CLASS:' \
        '*--skip-unlabelled[skip records without a label instead of failing]' \
        '*--split[table of record names, parts (train, valid or skip) and optional groups]:TSV:_files' \
        '*--split-by[keep records with the same '\''KEY='\'' in their header on one side of the split]:KEY:' \
        '*-m[model file, or name of a model that comes with chordseq, such as fast]:FILE:_files' \
        '*--model[model file, or name of a model that comes with chordseq, such as fast]:FILE:_files' \
        '*--strand[strands to read\: forward, both, max, weighted, or model (the model'\''s default)]:NAME:(model forward both max weighted)' \
        '*--long-sequence[sequences too long for the model or memory\: whole, window, error, cpu or fit]:NAME:(whole window error cpu fit)' \
        '*--window-length[window length in bases; 0\: the model'\''s maximum]:NUM:' \
        '*--window-overlap[minimum overlap of neighbouring windows, in bases]:NUM:' \
        '*--max-memory[memory limit for one sequence; 0\: free memory]:BYTES:' \
        '*--min-length[minimum sequence length in bases; 0\: one token]:NUM:' \
        '*--max-unknown[maximum share of letters other than A, C, G and T]:SHARE:' \
        '*--bins[boundaries of length bins in bases, comma-separated]:LIST:' \
        '*--fragments[also evaluate fragments of these lengths, cut from the records]:LIST:' \
        '*--fragments-per-record[maximum fragments of each length per record]:NUM:' \
        '*--tolerance[error below which a value is correct]:NUM:' \
        '*--threshold[with head multilabel, probability threshold of a label]:NUM:' \
        '*--seed[seed for the positions of fragments]:NUM:' \
        '*-B[tokens per batch, or auto]:NUM:' \
        '*--batch-tokens[tokens per batch, or auto]:NUM:' \
        '*--prior[shares of classes in the input, such as bacteria=0.95,plasmid=0.05, or auto (classify only); default\: equal]:CLASS=SHARE,...:' \
        '*--prior-file[the same from a file, as --shares writes it]:FILE:_files' \
        '*-o[table of all metrics; '\''-'\'' is standard output]:FILE:_files' \
        '*--output[table of all metrics; '\''-'\'' is standard output]:FILE:_files' \
        '*--json[metrics as one JSON object]:FILE:_files' \
        '*--html[HTML report\: classes, confusion matrix, curves, lengths, confidence]:FILE:_files' \
        '*--calibrate[calibrate the model and write it to this file]:FILE:_files' \
        '*--scores[table of all predictions with the truth, uncalibrated]:FILE:_files' \
        '*-@[total number of threads, also -t (default\: one per processor)]:NUM:' \
        '*--threads[total number of threads, also -t (default\: one per processor)]:NUM:' \
        '*--device[device\: cpu, cuda, cuda\:NUMBER,... or auto]:NAME:' \
        '*--precision[precision of matrix products\: fp32, tf32, bf16 or auto]:KIND:(auto fp32 tf32 bf16)' \
        '*-q[no progress, no summary; repeat to print errors only]' \
        '*--quiet[no progress, no summary; repeat to print errors only]' \
        '*-v[more log messages; repeat for all]' \
        '*--verbose[more log messages; repeat for all]' \
        '*--verbosity[0\: silent, 1\: errors, 3\: warnings and summary, 4\: as -v, 5\: as -vv]:LEVEL:' \
        '*--force[also overwrite files of sequences, alignments or variants]' \
        '--help[list the options]' '*:file:_files' ;;
    simulate) _arguments \
        '*-n[number of records or persons]:NUM:' \
        '*--records[number of records or persons]:NUM:' \
        '*--lambda[adding\: scale of the lengths]:NUM:' \
        '*--max-len[adding\: longest record]:NUM:' \
        '*--length[xor, temporal-order\: length of every record]:NUM:' \
        '*--seed[random seed]:NUM:' \
        '*-o[output file; '\''-'\'' is standard output]:FILE:_files' \
        '*--output[output file; '\''-'\'' is standard output]:FILE:_files' \
        '*-i[sites and alleles\: VCF or BCF]:VCF:_files' \
        '*--input[sites and alleles\: VCF or BCF]:VCF:_files' \
        '*-r[restrict to contig\:from-to]:REGION:' \
        '*--region[restrict to contig\:from-to]:REGION:' \
        '*--frequencies[allele frequencies\: from the file, or drawn]:FROM:(file draw)' \
        '*--min-freq[minimum frequency of REF, and of all ALTs together]:NUM:' \
        '*--ld-scale[distance at which the correlation of neighbouring sites is 1/e; 0\: independent sites]:BASES:' \
        '*--causal[number of causal sites]:NUM:' \
        '*--heritability[heritability\: share of the liability'\''s variance due to causal sites]:SHARE:' \
        '*--prevalence[share of cases in the population]:SHARE:' \
        '*--case-share[share of cases in the cohort; 0\: as in the population]:SHARE:' \
        '*--labels[write each person'\''s class, case or control]:FILE:_files' \
        '*--liabilities[write each person'\''s liability, and its genetic part]:FILE:_files' \
        '*--effects[write the causal sites]:FILE:_files' \
        '*-q[no progress, no summary; repeat to print errors only]' \
        '*--quiet[no progress, no summary; repeat to print errors only]' \
        '*-v[more log messages; repeat for all]' \
        '*--verbose[more log messages; repeat for all]' \
        '*--verbosity[0\: silent, 1\: errors, 3\: warnings and summary, 4\: as -v, 5\: as -vv]:LEVEL:' \
        '*--force[also overwrite files of sequences, alignments or variants]' \
        '1:what:(adding xor temporal-order cohort)' \
        '--help[list the options]' '*:file:_files' ;;
    tokenize) _arguments \
        '*-i[input file; '\''-'\'' is standard input]:FILE:_files' \
        '*--input[input file; '\''-'\'' is standard input]:FILE:_files' \
        '*--input-list[list of input files, one per line; '\''-'\'' is standard input]:FILE:_files' \
        '*--input-fmt[input format\: auto (by content), fasta, fastq, sam, bam or cram]:FORMAT:(auto fasta fastq sam bam cram)' \
        '*-T[FASTA file that CRAM input was compressed against]:FILE:_files' \
        '*--reference[FASTA file that CRAM input was compressed against]:FILE:_files' \
        '*-f[SAM, BAM, CRAM\: require all of these FLAG bits]:FLAGS:' \
        '*--require-flags[SAM, BAM, CRAM\: require all of these FLAG bits]:FLAGS:' \
        '*-F[SAM, BAM, CRAM\: exclude any of these FLAG bits]:FLAGS:' \
        '*--exclude-flags[SAM, BAM, CRAM\: exclude any of these FLAG bits]:FLAGS:' \
        '*-e[SAM, BAM, CRAM\: require this filter expression]:EXPR:' \
        '*--expr[SAM, BAM, CRAM\: require this filter expression]:EXPR:' \
        '*-r[BAM, CRAM\: restrict to NAME or NAME\:FROM-TO]:REGION:' \
        '*--region[BAM, CRAM\: restrict to NAME or NAME\:FROM-TO]:REGION:' \
        '*-R[BAM, CRAM\: restrict to the regions of this BED file]:FILE:_files' \
        '*--regions-file[BAM, CRAM\: restrict to the regions of this BED file]:FILE:_files' \
        '*-m[tokenizer.json, or a model with a tokenizer]:FILE:_files' \
        '*--model[tokenizer.json, or a model with a tokenizer]:FILE:_files' \
        '*--format[output\: pieces (text) or ids]:FORMAT:(pieces ids)' \
        '*-o[output file; '\''-'\'' is standard output]:FILE:_files' \
        '*--output[output file; '\''-'\'' is standard output]:FILE:_files' \
        '*--train[train a vocabulary and write tokenizer.json\: bpe]:KIND:' \
        '*--alphabet[alphabet\: bases or diplotypes]:NAME:(bases diplotypes)' \
        '*--vocab-size[vocabulary size, including five special tokens and the alphabet]:NUM:' \
        '*--max-piece[maximum symbols of a token]:NUM:' \
        '*--min-count[minimum count of a merged pair]:NUM:' \
        '*--sentences[train on this many random sentences; 0\: the whole input]:NUM:' \
        '*--sentence-min[minimum symbols of a sentence]:NUM:' \
        '*--sentence-max[maximum symbols of a sentence]:NUM:' \
        '*--seed[seed for sampling sentences]:NUM:' \
        '*-@[total number of threads, also -t (default\: one per processor)]:NUM:' \
        '*--threads[total number of threads, also -t (default\: one per processor)]:NUM:' \
        '*-q[no progress, no summary; repeat to print errors only]' \
        '*--quiet[no progress, no summary; repeat to print errors only]' \
        '*-v[more log messages; repeat for all]' \
        '*--verbose[more log messages; repeat for all]' \
        '*--verbosity[0\: silent, 1\: errors, 3\: warnings and summary, 4\: as -v, 5\: as -vv]:LEVEL:' \
        '*--force[also overwrite files of sequences, alignments or variants]' \
        '--help[list the options]' '*:file:_files' ;;
    diplotype) _arguments \
        '*-i[input file; '\''-'\'' is standard input]:FILE:_files' \
        '*--input[input file; '\''-'\'' is standard input]:FILE:_files' \
        '*-f[FASTA file that the input refers to]:FILE:_files' \
        '*--reference[FASTA file that the input refers to]:FILE:_files' \
        '*--strict-contigs[refuse contigs whose names match the reference only without '\''chr'\'']' \
        '*-r[restrict to contig, contig\:from or contig\:from-to (may be repeated)]:REGION:' \
        '*--region[restrict to contig, contig\:from or contig\:from-to (may be repeated)]:REGION:' \
        '*-R[restrict to the regions of this BED file]:FILE:_files' \
        '*--regions-file[restrict to the regions of this BED file]:FILE:_files' \
        '*-o[output file; '\''-'\'' is standard output]:FILE:_files' \
        '*--output[output file; '\''-'\'' is standard output]:FILE:_files' \
        '*--names[names of records\: sample, region or both]:NAME:(sample region both)' \
        '*--skip-flags[exclude reads with any of these SAM flags]:NUM:' \
        '*--min-mapq[minimum mapping quality]:NUM:' \
        '*--min-baseq[minimum base quality]:NUM:' \
        '*--max-depth[maximum depth; further reads are ignored]:NUM:' \
        '*--min-depth[minimum depth; below it a site is N]:NUM:' \
        '*--min-count[minimum reads of a second allele]:NUM:' \
        '*--min-frac[minimum share of a second allele]:NUM:' \
        '*-s[restrict to this sample (may be repeated; default\: all)]:NAME:' \
        '*--sample[restrict to this sample (may be repeated; default\: all)]:NAME:' \
        '*--absent[sites without a record\: reference or unknown]:NAME:(reference unknown)' \
        '*--all-filters[include records that failed a filter]' \
        '*--max-memory[memory limit for the haplotypes of one region; they take a byte per site and sample]:NUM:' \
        '*-@[total number of threads, also -t (default\: one per processor)]:NUM:' \
        '*--threads[total number of threads, also -t (default\: one per processor)]:NUM:' \
        '*-q[no progress, no summary; repeat to print errors only]' \
        '*--quiet[no progress, no summary; repeat to print errors only]' \
        '*-v[more log messages; repeat for all]' \
        '*--verbose[more log messages; repeat for all]' \
        '*--verbosity[0\: silent, 1\: errors, 3\: warnings and summary, 4\: as -v, 5\: as -vv]:LEVEL:' \
        '*--force[also overwrite files of sequences, alignments or variants]' \
        '--help[list the options]' '*:file:_files' ;;
    model) _arguments \
        '*--license[licence in the model card]:ID:' \
        '*--demonstration[mark the model as a demonstration, not for real data]' \
        '*--precision[lowest precision that the model was validated in]:KIND:(fp32 tf32 bf16)' \
        '*--alphabet[bases of the checkpoint'\''s input channels, in order]:LETTERS:' \
        '*--taxonomy[table of taxa, or folder with NCBI'\''s taxonomy dump; stored in the model]:FILE:_files' \
        '*--taxa[with a taxonomy dump, table of taxa for classes with other names]:FILE:_files' \
        '*--lineage[labels are lineages separated by '\'';'\'', with these comma-separated ranks]:RANKS:' \
        '*--rank[rank of every linear layer; below 1\: share of the layer'\''s smaller side]:NUM:' \
        '*--energy[smallest rank that keeps this share of a layer'\''s squared weights, instead of --rank]:SHARE:' \
        '*-o[output model]:FILE:_files' \
        '*--output[output model]:FILE:_files' \
        '*-i[input file; '\''-'\'' is standard input]:FILE:_files' \
        '*--input[input file; '\''-'\'' is standard input]:FILE:_files' \
        '*--input-list[list of input files, one per line; '\''-'\'' is standard input]:FILE:_files' \
        '*--input-fmt[input format\: auto (by content), fasta, fastq, sam, bam or cram]:FORMAT:(auto fasta fastq sam bam cram)' \
        '*-T[FASTA file that CRAM input was compressed against]:FILE:_files' \
        '*--reference[FASTA file that CRAM input was compressed against]:FILE:_files' \
        '*-f[SAM, BAM, CRAM\: require all of these FLAG bits]:FLAGS:' \
        '*--require-flags[SAM, BAM, CRAM\: require all of these FLAG bits]:FLAGS:' \
        '*-F[SAM, BAM, CRAM\: exclude any of these FLAG bits]:FLAGS:' \
        '*--exclude-flags[SAM, BAM, CRAM\: exclude any of these FLAG bits]:FLAGS:' \
        '*-e[SAM, BAM, CRAM\: require this filter expression]:EXPR:' \
        '*--expr[SAM, BAM, CRAM\: require this filter expression]:EXPR:' \
        '*-r[BAM, CRAM\: restrict to NAME or NAME\:FROM-TO]:REGION:' \
        '*--region[BAM, CRAM\: restrict to NAME or NAME\:FROM-TO]:REGION:' \
        '*-R[BAM, CRAM\: restrict to the regions of this BED file]:FILE:_files' \
        '*--regions-file[BAM, CRAM\: restrict to the regions of this BED file]:FILE:_files' \
        '*--labels[table of record names and classes or values, TSV or CSV]:TSV:_files' \
        '*--label-key[the label follows '\''KEY='\'' in the record'\''s header line]:KEY:' \
        '*--class[class of all records of this file]:CLASS=FILE:_files' \
        '*--label-map[table of labels in the input and classes to use]:TSV:_files' \
        '*--intervals[table of intervals\: record, start, end, class]:BED:_files' \
        '*--background[class of all bases outside the intervals]:CLASS:' \
        '*--skip-unlabelled[skip records without a label instead of failing]' \
        '*--split[table of record names, parts (train, valid or skip) and optional groups]:TSV:_files' \
        '*--split-by[keep records with the same '\''KEY='\'' in their header on one side of the split]:KEY:' \
        '*--peptide-alphabet[groups of amino acids that are one letter of a peptide word]:GROUPS:' \
        '*--peptide-k[letters of a peptide word]:NUM:' \
        '*--sample[use one of this many peptide words]:NUM:' \
        '*--min-groups[minimum groups of one class with a peptide word]:NUM:' \
        '*--purity[minimum share of a peptide word'\''s groups that are in its class]:SHARE:' \
        '*--size[maximum size of the table or database, in equal shares of the classes]:BYTES:' \
        '*--weights[copy the weights of this model'\''s table or database; of several models, their mean]:FILE:_files' \
        '*--refit[keep the model'\''s table or database, and fit its weights again]' \
        '*--top-taxa[for the head tree\: comma-separated taxa to tell apart first]:TAXA:' \
        '*--crops[number of crops of validation records to fit weights to]:NUM:' \
        '*--seed[seed of the crops]:NUM:' \
        '*--mutate[substitute up to this share of a sample'\''s bases]:RATE:' \
        '*--mutate-indels[insert or delete 1 to 3 bases at up to this share of positions]:RATE:' \
        '*--mutate-silent[change up to this share of codons to synonymous codons]:RATE:' \
        '*--mutate-share[share of the samples that are mutated]:NUM:' \
        '*--protein-length[minimum amino acids of an open reading frame]:NUM:' \
        '*--protein-piece[maximum amino acids of a stored piece of a reading frame]:NUM:' \
        '*--max-known[skip proteins with more than this share of known words]:SHARE:' \
        '*--scores[table of '\''chordseq eval --scores'\''; may be repeated]:FILE:_files' \
        '*--bins[boundaries of length bins in bases, comma-separated]:LIST:' \
        '*--max-error[maximum error rate of calls, stored in the model]:RATE:' \
        '*-@[total number of threads, also -t (default\: one per processor)]:NUM:' \
        '*--threads[total number of threads, also -t (default\: one per processor)]:NUM:' \
        '*-q[no progress, no summary; repeat to print errors only]' \
        '*--quiet[no progress, no summary; repeat to print errors only]' \
        '*-v[more log messages; repeat for all]' \
        '*--verbose[more log messages; repeat for all]' \
        '*--verbosity[0\: silent, 1\: errors, 3\: warnings and summary, 4\: as -v, 5\: as -vv]:LEVEL:' \
        '*--force[also overwrite files of sequences, alignments or variants]' \
        '1:what:(show verify factorize export import label checked compact lookup proteins calibrate)' \
        '--help[list the options]' '*:file:_files' ;;
    factorize) _arguments \
        '*-i[square matrix to factorize, NPY; '\''-'\'' is standard input]:FILE:_files' \
        '*--input[square matrix to factorize, NPY; '\''-'\'' is standard input]:FILE:_files' \
        '*-o[write the factors as PREFIX.1.npy, PREFIX.2.npy ... and PREFIX.index.npy]:PREFIX:' \
        '*--output[write the factors as PREFIX.1.npy, PREFIX.2.npy ... and PREFIX.index.npy]:PREFIX:' \
        '*--dense[write dense factors, without an index]' \
        '*--plot[draw the matrix, the product and the truncated SVD\: *.svg or *.png]:FILE:_files' \
        '*--factors[number of factors; 0\: ceil(log2 n) for an n x n matrix]:NUM:' \
        '*--steps[steps of Adam]:NUM:' \
        '*--lr[peak learning rate]:NUM:' \
        '*--seed[seed of the initial weights]:NUM:' \
        '*-@[threads (default\: one per processor)]:NUM:' \
        '*--threads[threads (default\: one per processor)]:NUM:' \
        '*-q[no progress, no summary; repeat to print errors only]' \
        '*--quiet[no progress, no summary; repeat to print errors only]' \
        '*-v[more log messages; repeat for all]' \
        '*--verbose[more log messages; repeat for all]' \
        '*--verbosity[0\: silent, 1\: errors, 3\: warnings and summary, 4\: as -v, 5\: as -vv]:LEVEL:' \
        '*--force[also overwrite files of sequences, alignments or variants]' \
        '--help[list the options]' '*:file:_files' ;;
    bench) _arguments \
        '*--encoder[encoder to measure; may be repeated (default\: all)]:NAME[\:OPTION=VALUE...]:' \
        '*--min-len[shortest sequence, in tokens; lengths double]:NUM:' \
        '*--max-len[longest sequence]:NUM:' \
        '*--width[channels of a token, or the nearest width that the encoder supports]:NUM:' \
        '*--repeats[passes per measurement; the median is reported]:NUM:' \
        '*--max-seconds[time limit per length]:NUM:' \
        '*--max-memory[maximum memory for the activations of a pass]:BYTES:' \
        '*--seed[seed of weights and tokens]:NUM:' \
        '*-o[output file; '\''-'\'' is standard output]:FILE:_files' \
        '*--output[output file; '\''-'\'' is standard output]:FILE:_files' \
        '*--checkpoint-blocks[number of block inputs to store (gradient checkpointing); auto\: all activations]:NUM:' \
        '*--recompute[store only the inputs of all blocks, and recompute the other activations]' \
        '*-@[total number of threads, also -t (default\: one per processor)]:NUM:' \
        '*--threads[total number of threads, also -t (default\: one per processor)]:NUM:' \
        '*--device[device\: cpu, cuda, cuda\:NUMBER,... or auto]:NAME:' \
        '*--precision[precision of matrix products\: fp32, tf32, bf16 or auto]:KIND:(auto fp32 tf32 bf16)' \
        '*-q[no progress, no summary; repeat to print errors only]' \
        '*--quiet[no progress, no summary; repeat to print errors only]' \
        '*-v[more log messages; repeat for all]' \
        '*--verbose[more log messages; repeat for all]' \
        '*--verbosity[0\: silent, 1\: errors, 3\: warnings and summary, 4\: as -v, 5\: as -vv]:LEVEL:' \
        '*--force[also overwrite files of sequences, alignments or variants]' \
        '1:what:(encoders)' \
        '--help[list the options]' '*:file:_files' ;;
    selftest) _arguments \
        '*--vectors[folder with reference vectors (default\: the installed one)]:DIR:_files' \
        '*-m[default model to check (default\: the installed one)]:FILE:_files' \
        '*--model[default model to check (default\: the installed one)]:FILE:_files' \
        '*-@[total number of threads, also -t (default\: one per processor)]:NUM:' \
        '*--threads[total number of threads, also -t (default\: one per processor)]:NUM:' \
        '*-q[no progress, no summary; repeat to print errors only]' \
        '*--quiet[no progress, no summary; repeat to print errors only]' \
        '*-v[more log messages; repeat for all]' \
        '*--verbose[more log messages; repeat for all]' \
        '*--verbosity[0\: silent, 1\: errors, 3\: warnings and summary, 4\: as -v, 5\: as -vv]:LEVEL:' \
        '*--force[also overwrite files of sequences, alignments or variants]' \
        '--help[list the options]' '*:file:_files' ;;
    help) compadd classify predict embed merge completion variant explain train pretrain eval simulate tokenize diplotype model factorize bench selftest help ;;
    esac
}
_chordseq "$@"
