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
        '*-i[read this file; '\''-'\'' is standard input]:FILE:_files' \
        '*--input[read this file; '\''-'\'' is standard input]:FILE:_files' \
        '*--input-list[read the files that this one names, one a line; '\''-'\''\: stdin]:FILE:_files' \
        '*--reference[FASTA file that CRAM input was compressed against]:FILE:_files' \
        '*-f[of SAM, BAM and CRAM, read only alignments with all of these FLAG bits]:FLAGS:' \
        '*--require-flags[of SAM, BAM and CRAM, read only alignments with all of these FLAG bits]:FLAGS:' \
        '*-F[and with none of these]:FLAGS:' \
        '*--exclude-flags[and with none of these]:FLAGS:' \
        '*-r[read only alignments that overlap it, as NAME or NAME\:FROM-TO]:REGION:' \
        '*--region[read only alignments that overlap it, as NAME or NAME\:FROM-TO]:REGION:' \
        '*-1[first mates of pairs, in place of -i]:FILE:_files' \
        '*--mates-1[first mates of pairs, in place of -i]:FILE:_files' \
        '*-2[their second mates, in the same order]:FILE:_files' \
        '*--mates-2[their second mates, in the same order]:FILE:_files' \
        '*--interleaved[mates follow each other in the input]' \
        '*-m[model file (default\: the model that comes with chordseq)]:FILE:_files' \
        '*--model[model file (default\: the model that comes with chordseq)]:FILE:_files' \
        '*--strand[forward, both, or model\: what the model file states]:NAME:(model forward both)' \
        '*--long-sequence[whole, window, error, cpu or fit\: what is done with long sequences]:NAME:(whole window error cpu fit)' \
        '*--window-length[bases of a window; 0\: as many as the model takes]:NUM:' \
        '*--window-overlap[bases that neighbouring windows share at least]:NUM:' \
        '*--max-memory[most memory of the network for one sequence; 0\: what there is]:BYTES:' \
        '*--min-length[fewest bases of a sequence that is answered; 0\: what one token needs]:NUM:' \
        '*--max-unknown[largest share of letters other than A, C, G and T]:SHARE:' \
        '*--call[class, taxon, or auto\: taxon with a model of the head tree]:WHAT:(auto class taxon)' \
        '*--min-prob[least probability of a call]:NUM:' \
        '*--max-error[call only what errs at most so often]:RATE:' \
        '*-o[write the table here (default\: standard output, unless another output per record is asked for)]:FILE:_files' \
        '*--output[write the table here (default\: standard output, unless another output per record is asked for)]:FILE:_files' \
        '*--all[add a column with the probability of every class]' \
        '*--jsonl[one JSON object per record and line, with every field]:FILE:_files' \
        '*--kraken[a line per record as Kraken 2 writes it]:FILE:_files' \
        '*--use-names[with --kraken, names beside taxids]' \
        '*--report[a line per taxon with what its clade got, as Kraken 2 reports]:FILE:_files' \
        '*--krona[counts and lineages for Krona'\''s ktImportText]:FILE:_files' \
        '*--cami-binning[taxon and class per called record in CAMI'\''s format for binning]:FILE:_files' \
        '*--cami-profile[shares of taxa, by bases, in CAMI'\''s format for profiles]:FILE:_files' \
        '*--sample[what CAMI'\''s formats call the input]:NAME:' \
        '*--bam[the input'\''s alignments, or its sequences unaligned, with tags cl, cp and ct]:FILE:_files' \
        '*--output-fmt[with --bam\: auto (by its name), sam, bam or cram]:FORMAT:(auto sam bam cram)' \
        '*--no-PG[with --bam, add no @PG line to the header]' \
        '*--split-dir[a FASTA or FASTQ file per class, and one for what has none, in this folder]:DIR:_files' \
        '*--split-gz[compress these files with bgzip'\''s format (.gz)]' \
        '*--summary[versions, model, options and counts as JSON; name it chordseq_summary.json]:FILE:_files' \
        '*--html[a page to look at\: classes, reasons, probabilities, lengths]:FILE:_files' \
        '*--resume[write what a later run can go on with, and go on where an earlier one was interrupted]' \
        '*--resume-every[with --resume, how much work may be lost]:SECONDS:' \
        '*-@[threads that work at once, all together (default\: one per processor)]:NUM:' \
        '*--threads[threads that work at once, all together (default\: one per processor)]:NUM:' \
        '*--device[what the network computes on\: cpu, cuda, cuda\:NUMBER,... or auto]:NAME:' \
        '*--precision[numbers that go into a GPU'\''s products\: fp32, tf32, bf16 or auto]:KIND:(auto fp32 tf32 bf16)' \
        '*-B[tokens computed at once, or auto]:NUM:' \
        '*--batch-tokens[tokens computed at once, or auto]:NUM:' \
        '*--chunks-in-flight[chunks of about 128 kilobases on their way; memory is (NUM + 8) / 4 MiB, batches, network and 32 bytes per base of the longest sequence]:NUM:' \
        '*--check-finite[on or off\: end the run at an answer that is not a finite number]:WHEN:(off on)' \
        '*--shard[read the I-th of N parts of the input, such as 2/8]:I/N:' \
        '*--manifest[with --shard, write here what chordseq merge has to know of this part]:FILE:_files' \
        '*-q[print nothing but errors]' \
        '*--quiet[print nothing but errors]' \
        '*-v[say more about the run; twice\: say everything]' \
        '*--verbose[say more about the run; twice\: say everything]' \
        '*--force[write outputs also over files of sequences, alignments or variants]' \
        '--help[list the options]' '*:file:_files' ;;
    predict) _arguments \
        '*-i[read this file; '\''-'\'' is standard input]:FILE:_files' \
        '*--input[read this file; '\''-'\'' is standard input]:FILE:_files' \
        '*--input-list[read the files that this one names, one a line; '\''-'\''\: stdin]:FILE:_files' \
        '*--reference[FASTA file that CRAM input was compressed against]:FILE:_files' \
        '*-f[of SAM, BAM and CRAM, read only alignments with all of these FLAG bits]:FLAGS:' \
        '*--require-flags[of SAM, BAM and CRAM, read only alignments with all of these FLAG bits]:FLAGS:' \
        '*-F[and with none of these]:FLAGS:' \
        '*--exclude-flags[and with none of these]:FLAGS:' \
        '*-r[read only alignments that overlap it, as NAME or NAME\:FROM-TO]:REGION:' \
        '*--region[read only alignments that overlap it, as NAME or NAME\:FROM-TO]:REGION:' \
        '*-m[model file (default\: the model that comes with chordseq)]:FILE:_files' \
        '*--model[model file (default\: the model that comes with chordseq)]:FILE:_files' \
        '*--strand[forward, both, or model\: what the model file states]:NAME:(model forward both)' \
        '*--long-sequence[whole, window, error, cpu or fit\: what is done with long sequences]:NAME:(whole window error cpu fit)' \
        '*--window-length[bases of a window; 0\: as many as the model takes]:NUM:' \
        '*--window-overlap[bases that neighbouring windows share at least]:NUM:' \
        '*--max-memory[most memory of the network for one sequence; 0\: what there is]:BYTES:' \
        '*--min-length[fewest bases of a sequence that is answered; 0\: what one token needs]:NUM:' \
        '*--max-unknown[largest share of letters other than A, C, G and T]:SHARE:' \
        '*-o[write here; '\''-'\'' is standard output]:FILE:_files' \
        '*--output[write here; '\''-'\'' is standard output]:FILE:_files' \
        '*--format[bed, tsv or bedgraph]:FORMAT:(bed tsv bedgraph)' \
        '*--class[with bedgraph, whose probability is written]:NAME:' \
        '*-@[threads that work at once, all together (default\: one per processor)]:NUM:' \
        '*--threads[threads that work at once, all together (default\: one per processor)]:NUM:' \
        '*--device[what the network computes on\: cpu, cuda, cuda\:NUMBER,... or auto]:NAME:' \
        '*--precision[numbers that go into a GPU'\''s products\: fp32, tf32, bf16 or auto]:KIND:(auto fp32 tf32 bf16)' \
        '*-B[tokens computed at once, or auto]:NUM:' \
        '*--batch-tokens[tokens computed at once, or auto]:NUM:' \
        '*--chunks-in-flight[chunks of about 128 kilobases on their way; memory is (NUM + 8) / 4 MiB, batches, network and 32 bytes per base of the longest sequence]:NUM:' \
        '*--check-finite[on or off\: end the run at an answer that is not a finite number]:WHEN:(off on)' \
        '*--shard[read the I-th of N parts of the input, such as 2/8]:I/N:' \
        '*--manifest[with --shard, write here what chordseq merge has to know of this part]:FILE:_files' \
        '*-q[print nothing but errors]' \
        '*--quiet[print nothing but errors]' \
        '*-v[say more about the run; twice\: say everything]' \
        '*--verbose[say more about the run; twice\: say everything]' \
        '*--force[write outputs also over files of sequences, alignments or variants]' \
        '--help[list the options]' '*:file:_files' ;;
    embed) _arguments \
        '*-i[read this file; '\''-'\'' is standard input]:FILE:_files' \
        '*--input[read this file; '\''-'\'' is standard input]:FILE:_files' \
        '*--input-list[read the files that this one names, one a line; '\''-'\''\: stdin]:FILE:_files' \
        '*--reference[FASTA file that CRAM input was compressed against]:FILE:_files' \
        '*-f[of SAM, BAM and CRAM, read only alignments with all of these FLAG bits]:FLAGS:' \
        '*--require-flags[of SAM, BAM and CRAM, read only alignments with all of these FLAG bits]:FLAGS:' \
        '*-F[and with none of these]:FLAGS:' \
        '*--exclude-flags[and with none of these]:FLAGS:' \
        '*-r[read only alignments that overlap it, as NAME or NAME\:FROM-TO]:REGION:' \
        '*--region[read only alignments that overlap it, as NAME or NAME\:FROM-TO]:REGION:' \
        '*-1[first mates of pairs, in place of -i]:FILE:_files' \
        '*--mates-1[first mates of pairs, in place of -i]:FILE:_files' \
        '*-2[their second mates, in the same order]:FILE:_files' \
        '*--mates-2[their second mates, in the same order]:FILE:_files' \
        '*--interleaved[mates follow each other in the input]' \
        '*-m[model file (default\: the model that comes with chordseq)]:FILE:_files' \
        '*--model[model file (default\: the model that comes with chordseq)]:FILE:_files' \
        '*--strand[forward, both, or model\: what the model file states]:NAME:(model forward both)' \
        '*--long-sequence[whole, window, error, cpu or fit\: what is done with long sequences]:NAME:(whole window error cpu fit)' \
        '*--window-length[bases of a window; 0\: as many as the model takes]:NUM:' \
        '*--window-overlap[bases that neighbouring windows share at least]:NUM:' \
        '*--max-memory[most memory of the network for one sequence; 0\: what there is]:BYTES:' \
        '*--min-length[fewest bases of a sequence that is answered; 0\: what one token needs]:NUM:' \
        '*--max-unknown[largest share of letters other than A, C, G and T]:SHARE:' \
        '*-o[write the vectors here; '\''-'\'' is standard output, for tsv]:FILE:_files' \
        '*--output[write the vectors here; '\''-'\'' is standard output, for tsv]:FILE:_files' \
        '*--format[npy, or tsv for pipes]:FORMAT:(npy tsv)' \
        '*--names[with npy, write row, name, length and reason of every record here (default\: the output'\''s name with .names.tsv)]:FILE:_files' \
        '*--vector[pooled or hidden]:KIND:(pooled hidden)' \
        '*-@[threads that work at once, all together (default\: one per processor)]:NUM:' \
        '*--threads[threads that work at once, all together (default\: one per processor)]:NUM:' \
        '*--device[what the network computes on\: cpu, cuda, cuda\:NUMBER,... or auto]:NAME:' \
        '*--precision[numbers that go into a GPU'\''s products\: fp32, tf32, bf16 or auto]:KIND:(auto fp32 tf32 bf16)' \
        '*-B[tokens computed at once, or auto]:NUM:' \
        '*--batch-tokens[tokens computed at once, or auto]:NUM:' \
        '*--chunks-in-flight[chunks of about 128 kilobases on their way; memory is (NUM + 8) / 4 MiB, batches, network and 32 bytes per base of the longest sequence]:NUM:' \
        '*--check-finite[on or off\: end the run at an answer that is not a finite number]:WHEN:(off on)' \
        '*--shard[read the I-th of N parts of the input, such as 2/8]:I/N:' \
        '*--manifest[with --shard, write here what chordseq merge has to know of this part]:FILE:_files' \
        '*-q[print nothing but errors]' \
        '*--quiet[print nothing but errors]' \
        '*-v[say more about the run; twice\: say everything]' \
        '*--verbose[say more about the run; twice\: say everything]' \
        '*--force[write outputs also over files of sequences, alignments or variants]' \
        '--help[list the options]' '*:file:_files' ;;
    merge) _arguments \
        '*-o[what the shards'\'' --output have; '\''-'\'' is standard output]:FILE:_files' \
        '*--output[what the shards'\'' --output have; '\''-'\'' is standard output]:FILE:_files' \
        '*--jsonl[of classify\: what their --jsonl have]:FILE:_files' \
        '*--kraken[of classify\: what their --kraken have]:FILE:_files' \
        '*--cami-binning[of classify\: what their --cami-binning have]:FILE:_files' \
        '*--report[of classify\: a line per taxon, as Kraken 2 reports]:FILE:_files' \
        '*--krona[of classify\: counts and lineages for Krona'\''s ktImportText]:FILE:_files' \
        '*--cami-profile[of classify\: shares of taxa in CAMI'\''s format for profiles]:FILE:_files' \
        '*--summary[of classify\: versions, model, options and counts as JSON]:FILE:_files' \
        '*--names[of embed\: the names of rows (default\: the output'\''s name with .names.tsv)]:FILE:_files' \
        '*--tsv[of variant\: what their --tsv have]:FILE:_files' \
        '*-q[print nothing but errors]' \
        '*--quiet[print nothing but errors]' \
        '*-v[say more about the run; twice\: say everything]' \
        '*--verbose[say more about the run; twice\: say everything]' \
        '*--force[write outputs also over files of sequences, alignments or variants]' \
        '--help[list the options]' '*:file:_files' ;;
    completion) _arguments \
        '*-q[print nothing but errors]' \
        '*--quiet[print nothing but errors]' \
        '*-v[say more about the run; twice\: say everything]' \
        '*--verbose[say more about the run; twice\: say everything]' \
        '*--force[write outputs also over files of sequences, alignments or variants]' \
        '1:what:(bash zsh fish)' \
        '--help[list the options]' '*:file:_files' ;;
    variant) _arguments \
        '*-i[read this VCF or BCF file; '\''-'\'' is standard input]:FILE:_files' \
        '*--input[read this VCF or BCF file; '\''-'\'' is standard input]:FILE:_files' \
        '*-r[FASTA file that the variants refer to]:FILE:_files' \
        '*--reference[FASTA file that the variants refer to]:FILE:_files' \
        '*-o[write here; '\''-'\'' is standard output]:FILE:_files' \
        '*--output[write here; '\''-'\'' is standard output]:FILE:_files' \
        '*-O[v\: VCF, z\: BGZF-compressed VCF, b\: BCF, u\: uncompressed BCF]:TYPE:(auto v z u b)' \
        '*--output-type[v\: VCF, z\: BGZF-compressed VCF, b\: BCF, u\: uncompressed BCF]:TYPE:(auto v z u b)' \
        '*-W[write a CSI index beside the output]' \
        '*--write-index[write a CSI index beside the output]' \
        '*--tsv[and a table with a row per alternative allele here]:FILE:_files' \
        '*--prefix[what the names of INFO fields begin with]:TEXT:' \
        '*--no-version[no version, command line and model in the header]' \
        '*--score[model, embedding, llr, or auto\: what the model was trained for]:NAME:(auto model embedding llr)' \
        '*-w[bases of a window; 0\: what the model was trained on, or 1000]:NUM:' \
        '*--window-length[bases of a window; 0\: what the model was trained on, or 1000]:NUM:' \
        '*--ends[where a window reaches beyond its contig\: skip the variant, or fill up with N]:RULE:(skip fill)' \
        '*--circular[this contig goes round (may be repeated)]:CONTIG:' \
        '*--strand[forward, both, or model\: what the model file states]:NAME:(model forward both)' \
        '*--max-unknown[largest share of unknown bases in a window]:SHARE:' \
        '*-m[model file (default\: the model that comes with chordseq)]:FILE:_files' \
        '*--model[model file (default\: the model that comes with chordseq)]:FILE:_files' \
        '*-@[threads that work at once, all together (default\: one per processor)]:NUM:' \
        '*--threads[threads that work at once, all together (default\: one per processor)]:NUM:' \
        '*--device[what the network computes on\: cpu, cuda, cuda\:NUMBER,... or auto]:NAME:' \
        '*--precision[numbers that go into a GPU'\''s products\: fp32, tf32, bf16 or auto]:KIND:(auto fp32 tf32 bf16)' \
        '*-B[tokens computed at once, or auto]:NUM:' \
        '*--batch-tokens[tokens computed at once, or auto]:NUM:' \
        '*--chunks-in-flight[chunks of about 128 kilobases on their way; memory is (NUM + 8) / 4 MiB, batches, network and 32 bytes per base of the longest sequence]:NUM:' \
        '*--check-finite[on or off\: end the run at an answer that is not a finite number]:WHEN:(off on)' \
        '*--shard[read the I-th of N parts of the input, such as 2/8]:I/N:' \
        '*--manifest[with --shard, write here what chordseq merge has to know of this part]:FILE:_files' \
        '*-q[print nothing but errors]' \
        '*--quiet[print nothing but errors]' \
        '*-v[say more about the run; twice\: say everything]' \
        '*--verbose[say more about the run; twice\: say everything]' \
        '*--force[write outputs also over files of sequences, alignments or variants]' \
        '--help[list the options]' '*:file:_files' ;;
    explain) _arguments \
        '*-f[FASTA file with the sequences]:FILE:_files' \
        '*--reference[FASTA file with the sequences]:FILE:_files' \
        '*-r[explain this part\: contig, contig\:from or contig\:from-to (may be repeated)]:REGION:' \
        '*--region[explain this part\: contig, contig\:from or contig\:from-to (may be repeated)]:REGION:' \
        '*-R[and the parts that this BED file names]:FILE:_files' \
        '*--regions-file[and the parts that this BED file names]:FILE:_files' \
        '*-o[write bedGraph here; '\''-'\'' is standard output]:FILE:_files' \
        '*--output[write bedGraph here; '\''-'\'' is standard output]:FILE:_files' \
        '*--tsv[and a table with a row per base here]:FILE:_files' \
        '*--svg[and a plot of the first region, with letters as high as their contribution]:FILE:_files' \
        '*--method[mutagenesis, gradient, integrated or deeplift]:NAME:(mutagenesis gradient integrated deeplift)' \
        '*--baseline[what these compare with\: unknown, zero or shuffled]:NAME:(unknown zero shuffled)' \
        '*--shuffles[of --baseline shuffled]:NUM:' \
        '*--seed[seed of the shuffles]:NUM:' \
        '*--label[explain the answer for this label (default\: the largest one of the region)]:NAME:' \
        '*--value[with mutagenesis, what is compared\: logit or probability]:NAME:(logit probability)' \
        '*--steps[of integrated gradients, from the baseline to the region]:NUM:' \
        '*-B[of mutagenesis, tokens computed at once]:NUM:' \
        '*--batch-tokens[of mutagenesis, tokens computed at once]:NUM:' \
        '*-m[model file (default\: the model that comes with chordseq)]:FILE:_files' \
        '*--model[model file (default\: the model that comes with chordseq)]:FILE:_files' \
        '*-@[threads that work at once, all together (default\: one per processor)]:NUM:' \
        '*--threads[threads that work at once, all together (default\: one per processor)]:NUM:' \
        '*--device[what the network computes on\: cpu, cuda, cuda\:NUMBER,... or auto]:NAME:' \
        '*--precision[numbers that go into a GPU'\''s products\: fp32, tf32, bf16 or auto]:KIND:(auto fp32 tf32 bf16)' \
        '*-q[print nothing but errors]' \
        '*--quiet[print nothing but errors]' \
        '*-v[say more about the run; twice\: say everything]' \
        '*--verbose[say more about the run; twice\: say everything]' \
        '*--force[write outputs also over files of sequences, alignments or variants]' \
        '--help[list the options]' '*:file:_files' ;;
    train) _arguments \
        '*-i[read this file; '\''-'\'' is standard input]:FILE:_files' \
        '*--input[read this file; '\''-'\'' is standard input]:FILE:_files' \
        '*--input-list[read the files that this one names, one a line; '\''-'\''\: stdin]:FILE:_files' \
        '*--reference[FASTA file that CRAM input was compressed against]:FILE:_files' \
        '*-f[of SAM, BAM and CRAM, read only alignments with all of these FLAG bits]:FLAGS:' \
        '*--require-flags[of SAM, BAM and CRAM, read only alignments with all of these FLAG bits]:FLAGS:' \
        '*-F[and with none of these]:FLAGS:' \
        '*--exclude-flags[and with none of these]:FLAGS:' \
        '*-r[read only alignments that overlap it, as NAME or NAME\:FROM-TO]:REGION:' \
        '*--region[read only alignments that overlap it, as NAME or NAME\:FROM-TO]:REGION:' \
        '*--labels[table\: record name, then its class or its values]:TSV:_files' \
        '*--label-key[the label follows '\''KEY='\'' in the record'\''s header line]:KEY:' \
        '*--class[every record of this file has this class]:CLASS=FILE:_files' \
        '*--label-map[table\: label found, class that it stands for]:TSV:_files' \
        '*--intervals[table\: record, start, end, class, for every stretch that has one]:BED:_files' \
        '*--background[class of all bases outside of intervals]:CLASS:' \
        '*--skip-unlabelled[leave records without a label out instead of refusing them]' \
        '*--split[table\: record name, then train, valid or skip, then its group if there is a column]:TSV:_files' \
        '*--split-by[keep records with the same '\''KEY='\'' in their header on one side of the split]:KEY:' \
        '*--crop-min[shortest crop, in bases]:NUM:' \
        '*--crop-max[longest crop; 0\: whole sequences]:NUM:' \
        '*--crop-power[crops of length L are drawn with density L^-NUM]:NUM:' \
        '*--samples-per-epoch[samples drawn for an epoch; 0\: every record once]:NUM:' \
        '*--class-balance[0\: classes as often as their mass, 1\: all equally often]:NUM:' \
        '*--group-balance[within a class, 0\: groups as often as their mass, 1\: all equally often]:NUM:' \
        '*--length-power[a record is drawn in proportion to its length to this power]:NUM:' \
        '*--rc[reverse-complement half of the samples]' \
        '*--valid-frac[share of every class kept for validation]:NUM:' \
        '*--valid-samples[validation samples; 0\: every record once]:NUM:' \
        '*-B[most tokens computed at once]:NUM:' \
        '*--batch-tokens[most tokens computed at once]:NUM:' \
        '*--step-records[samples per step, of all lengths; 0\: see --accumulate]:NUM:' \
        '*--accumulate[batches per step]:NUM:' \
        '*--optimizer[adam or adamw]:NAME:(adam adamw)' \
        '*--lr[learning rate]:NUM:' \
        '*--beta1[decay of the first moment]:NUM:' \
        '*--beta2[decay of the second moment]:NUM:' \
        '*--eps[added to the root of the second moment]:NUM:' \
        '*--weight-decay[weight decay, of all parameters]:NUM:' \
        '*--keep-zero-grad[step tensors that a step did not use, once they have been used]' \
        '*--schedule[constant, linear, cosine or polynomial decay to the last step]:NAME:(constant linear cosine polynomial)' \
        '*--warmup[steps of linear warm-up; below 1\: share of all steps]:NUM:' \
        '*--cycles[waves of the cosine; 0.5 ends at zero]:NUM:' \
        '*--power[power of the polynomial decay]:NUM:' \
        '*--lr-end[learning rate at the end of the polynomial decay]:NUM:' \
        '*--clip[largest norm of the gradient; 0\: any]:NUM:' \
        '*--ema[decay of the averaged weights; 0\: no averaging]:NUM:' \
        '*--epochs[epochs in all]:NUM:' \
        '*--max-steps[end the run and its schedule after so many steps; 0\: by epochs]:NUM:' \
        '*--patience[stop after so many epochs without improvement; 0\: never]:NUM:' \
        '*--seed[seed of all randomness]:NUM:' \
        '*--budget[learn for so long (90s, 10m, 2h, 1d) or from so many bases (500M)]:TIME|BASES:' \
        '*--class-weights[one weight per class, with commas, or none, or balanced]:LIST:' \
        '*--stop-at[stop after the epoch whose validation is this good; 0\: do not]:NUM:' \
        '*--monitor[what improvement is\: balanced-accuracy or loss, of the validation]:NAME:(auto balanced-accuracy loss)' \
        '*--tolerance[a value predicted this well counts as correct]:NUM:' \
        '*--init[start from this model'\''s weights]:MODEL:_files' \
        '*--freeze[what is not learnt\: none or encoder]:PART:(none encoder)' \
        '*--freeze-epochs[the same for the first epochs only\: probing, then fine-tuning]:NUM:' \
        '*--encoder-lr[learning rate of embedding and encoder, times --lr]:FACTOR:' \
        '*-o[the model; written when validation improves]:FILE:_files' \
        '*--output[the model; written when validation improves]:FILE:_files' \
        '*--metrics[table with one row per epoch]:FILE:_files' \
        '*--checkpoint[written after every epoch and at the end (default\: the model'\''s name with .ckpt)]:FILE:_files' \
        '*--checkpoint-steps[and after every so many steps]:NUM:' \
        '*--resume[go on from the checkpoint, with the same options and data]' \
        '*--stop-after[pause after so many steps of this run; 0\: do not]:NUM:' \
        '*--max-time[pause after so long; 0\: do not]:SECONDS:' \
        '*--ranks[learn on so many processes, started here; env\: on those of a launcher]:NUM:' \
        '*--ranks-timeout[give up when a rank is silent for so long; 0\: never]:SECONDS:' \
        '*--checkpoint-blocks[inputs of blocks that training keeps of a batch; auto\: all that blocks compute]:NUM:' \
        '*--recompute[keep the inputs of all blocks, and nothing else of them]' \
        '*--strand[what the model states as its --strand\: forward, both or auto]:NAME:(auto forward both)' \
        '*--taxonomy[table of taxa, or folder with NCBI'\''s taxonomy dump; kept in the model]:FILE:_files' \
        '*--taxa[with such a folder, a table as above for classes that it calls otherwise]:FILE:_files' \
        '*--lineage[labels are lineages, with '\'';'\'' between; the ranks of their parts, with commas]:RANKS:' \
        '*--window-length[with head variant, bases of the windows around a variant]:NUM:' \
        '*-@[threads that work at once, all together (default\: one per processor)]:NUM:' \
        '*--threads[threads that work at once, all together (default\: one per processor)]:NUM:' \
        '*--device[what the network computes on\: cpu, cuda, cuda\:NUMBER,... or auto]:NAME:' \
        '*--precision[numbers that go into a GPU'\''s products\: fp32, tf32, bf16 or auto]:KIND:(auto fp32 tf32 bf16)' \
        '*-q[print nothing but errors]' \
        '*--quiet[print nothing but errors]' \
        '*-v[say more about the run; twice\: say everything]' \
        '*--verbose[say more about the run; twice\: say everything]' \
        '*--force[write outputs also over files of sequences, alignments or variants]' \
        '*--tokenizer[how bases become tokens]:NAME:(base kmer bpe diplotype)' \
        '*--encoder[the network]:NAME:(chordmixer transformer linformer lowrank fkernel singularformer cdil psf paramixer)' \
        '*--head[what is predicted]:NAME:(class tree multilabel regress token variant)' \
        '*--tokenizer.k[bases per token]:NUM:' \
        '*--tokenizer.stride[bases from one token to the next]:NUM:' \
        '*--tokenizer.canonical[give a word and its reverse complement the same token]' \
        '*--tokenizer.file[vocabulary and merges, as tokenizer.json]:FILE:_files' \
        '*--encoder.max-len[most tokens of a sequence]:NUM:' \
        '*--encoder.track[channels per track]:NUM:' \
        '*--encoder.hidden[hidden units of each block]:NUM:' \
        '*--encoder.norm[normalisation after the residual\: none, layer, batch or group]:KIND:(none layer batch group)' \
        '*--encoder.prenorm[normalisation before the first linear layer]:KIND:(none layer batch group)' \
        '*--encoder.dropout[share of hidden units left out in training]:RATE:' \
        '*--encoder.depth[blocks a sequence passes\: own (by its length), all or none]:RULE:(own all none)' \
        '*--encoder.init[initial weights of the second linear layers\: xavier or identity]:RULE:(xavier identity)' \
        '*--encoder.reversible[two coupled halves\: training memory does not grow with the number of blocks]' \
        '*--encoder.dim[channels of a token]:NUM:' \
        '*--encoder.heads[attention heads; they divide the channels]:NUM:' \
        '*--encoder.layers[layers, each attention and a feed-forward network]:NUM:' \
        '*--encoder.hidden[hidden units of the feed-forward networks]:NUM:' \
        '*--encoder.norm[layer normalisation after the residual (post) or before (pre)]:PLACE:(post pre)' \
        '*--encoder.act[activation of the feed-forward networks\: gelu or relu]:KIND:(gelu relu)' \
        '*--encoder.position[positions added to the tokens\: none, sinusoid or learned]:KIND:(none sinusoid learned)' \
        '*--encoder.max-len[most tokens of a sequence, where positions are added]:NUM:' \
        '*--encoder.dropout[share of values left out in training]:RATE:' \
        '*--encoder.max-len[most tokens of a sequence]:NUM:' \
        '*--encoder.dim[channels of a token]:NUM:' \
        '*--encoder.heads[attention heads]:NUM:' \
        '*--encoder.head[channels of a head; 0\: those of a token, divided among the heads]:NUM:' \
        '*--encoder.layers[layers, each attention and a feed-forward network]:NUM:' \
        '*--encoder.hidden[hidden units of the feed-forward networks]:NUM:' \
        '*--encoder.k[sums that stand for all keys, and for all values]:NUM:' \
        '*--encoder.norm[layer normalisation before the residual (pre) or after (post)]:PLACE:(pre post)' \
        '*--encoder.act[activation of the feed-forward networks\: gelu or relu]:KIND:(gelu relu)' \
        '*--encoder.values[values of their own (own), or the keys for values (keys)]:KIND:(own keys)' \
        '*--encoder.kv-heads[keys and values for all heads, or one head of them that all share]:KIND:(all one)' \
        '*--encoder.position[positions added to the tokens\: learned or none]:KIND:(learned none)' \
        '*--encoder.dropout[share of values left out in training]:RATE:' \
        '*--encoder.max-len[most tokens of a sequence, where positions are added]:NUM:' \
        '*--encoder.input[channels of the embedded input; 0\: those of a token]:NUM:' \
        '*--encoder.dim[channels of a token]:NUM:' \
        '*--encoder.heads[attention heads]:NUM:' \
        '*--encoder.key[channels of a head'\''s queries and keys; 0\: a token'\''s divided among the heads]:NUM:' \
        '*--encoder.value[channels of a head'\''s values; 0\: as key]:NUM:' \
        '*--encoder.layers[layers, each attention and a feed-forward network]:NUM:' \
        '*--encoder.hidden[hidden units of the feed-forward networks]:NUM:' \
        '*--encoder.rank[rank of the factorised layers]:NUM:' \
        '*--encoder.form[the authors'\'' code, or the paper'\''s equations]:KIND:(code paper)' \
        '*--encoder.factor[which layers are factorised\: all, or attention only]:WHICH:(all attention)' \
        '*--encoder.position[positions added to the tokens\: sinusoid or none]:KIND:(sinusoid none)' \
        '*--encoder.dropout[share of values left out in training]:RATE:' \
        '*--encoder.dim[channels of a token]:NUM:' \
        '*--encoder.heads[attention heads; they divide the channels]:NUM:' \
        '*--encoder.layers[layers, each attention and a feed-forward network]:NUM:' \
        '*--encoder.hidden[hidden units of the feed-forward networks]:NUM:' \
        '*--encoder.kernel[features\: linear (softplus), glu (gated) or aglu (gates of low rank)]:KIND:(linear glu aglu)' \
        '*--encoder.units[gated units, one after the other]:NUM:' \
        '*--encoder.rank[rank of aglu'\''s gates]:NUM:' \
        '*--encoder.features[feature weights of its own for every head (own), or one for all (shared)]:KIND:(own shared)' \
        '*--encoder.ortho[weight in the loss of how far feature weights are from orthogonal]:NUM:' \
        '*--encoder.position[positions added to the tokens\: none, sinusoid or learned]:KIND:(none sinusoid learned)' \
        '*--encoder.max-len[most tokens of a sequence, where positions are added]:NUM:' \
        '*--encoder.dropout[share of values left out in training]:RATE:' \
        '*--encoder.max-len[most tokens of a sequence, where positions are added]:NUM:' \
        '*--encoder.dim[channels of a token]:NUM:' \
        '*--encoder.heads[attention heads]:NUM:' \
        '*--encoder.head[channels of a head; 0\: those of a token, divided among the heads]:NUM:' \
        '*--encoder.layers[layers, each attention and a feed-forward network]:NUM:' \
        '*--encoder.hidden[hidden units of the feed-forward networks]:NUM:' \
        '*--encoder.rank[weighted sums over the tokens that attend to each other]:NUM:' \
        '*--encoder.gamma[weight in the loss of the regularisers]:NUM:' \
        '*--encoder.penalty[regularisers of the authors'\'' code, or of the paper]:KIND:(code paper)' \
        '*--encoder.scores[scores divided by the root of a head'\''s channels (scaled), or not (plain)]:KIND:(scaled plain)' \
        '*--encoder.position[positions added to the tokens\: sinusoid (a third of it) or none]:KIND:(sinusoid none)' \
        '*--encoder.dropout[share of values left out in training]:RATE:' \
        '*--encoder.max-len[tokens that the layers must span]:NUM:' \
        '*--encoder.layers[layers of a stack; 0\: by max-len]:NUM:' \
        '*--encoder.depth[layers a sequence passes\: own (by its length) or all]:RULE:(own all)' \
        '*--encoder.channels[channels, or those of every layer\: 8,12,16,16]:LIST:' \
        '*--encoder.decoder[channels of a second stack on the first; 0\: none]:LIST:' \
        '*--encoder.input[channels of the embedded input; 0\: those of the first layer]:NUM:' \
        '*--encoder.kernel[taps of a convolution, an odd number]:NUM:' \
        '*--encoder.dilation[tokens between the taps of the first layer; every next layer has twice as many]:NUM:' \
        '*--encoder.convs[convolutions of a layer\: two (CDIL for DNA) or one (CDIL-CNN)]:NUM:(two one)' \
        '*--encoder.hidden[channels between the two; 0\: twice those of the stack'\''s first layer]:NUM:' \
        '*--encoder.norm[normalisation\: none, weight (CDIL-CNN), batch (CDIL for DNA) or layer]:KIND:(none weight batch layer)' \
        '*--encoder.dropout[share of a convolution'\''s outputs left out in training]:RATE:' \
        '*--encoder.max-len[most tokens of a sequence]:NUM:' \
        '*--encoder.factors[factors that every sequence passes; 0\: by its length]:NUM:' \
        '*--encoder.input[channels of the embedded input; 0\: as channels]:NUM:' \
        '*--encoder.channels[channels of a token'\''s vector]:NUM:' \
        '*--encoder.hidden[hidden units of the networks that compute factors]:NUM:' \
        '*--encoder.g-hidden[hidden units of the network that computes what they multiply; 0\: as hidden]:NUM:' \
        '*--encoder.residual[added after every factor\: first, last or none]:KIND:(first last none)' \
        '*--encoder.position[positions added to the tokens\: none or learned]:KIND:(none learned)' \
        '*--encoder.dropout[share of the input'\''s values left out in training]:RATE:' \
        '*--encoder.max-len[most tokens of a sequence]:NUM:' \
        '*--encoder.layers[layers, each with factors of its own]:NUM:' \
        '*--encoder.factors[factors that every sequence passes in a layer; 0\: by its length]:NUM:' \
        '*--encoder.protocol[which tokens are linked\: chord or cdil]:KIND:(chord cdil)' \
        '*--encoder.channels[channels of a token'\''s vector]:NUM:' \
        '*--encoder.hidden[hidden units of the networks that compute factors]:NUM:' \
        '*--encoder.residual[added after every factor\: last, first or none]:KIND:(last first none)' \
        '*--encoder.position[positions added to the tokens\: none or learned]:KIND:(none learned)' \
        '*--encoder.dropout[share of the input'\''s values left out in training]:RATE:' \
        '*--head.predictor[layers between the encoder and what follows\: none or cdil]:KIND:(none cdil)' \
        '*--head.predictor-norm[normalisation in the predictor\: none, weight, batch or layer]:KIND:(none weight batch layer)' \
        '*--head.predictor-layers[layers of the predictor]:NUM:' \
        '*--head.predictor-kernel[taps of its convolutions, an odd number]:NUM:' \
        '*--head.predictor-channels[channels of its layers; 0\: those of the encoder]:NUM:' \
        '*--head.pool[what stands for a sequence\: mean, cls or centre]:KIND:(mean cls centre)' \
        '*--head.centre[tokens in the middle that pool centre takes; all of a shorter sequence]:NUM:' \
        '*--head.norm[normalisation of that vector]:KIND:(none layer)' \
        '*--head.hidden[hidden units between that vector and the answer; 0\: none]:NUM:' \
        '*--head.dropout[share of these hidden units left out in training]:RATE:' \
        '*--head.ancestors[weight of a class'\''s ancestors together in the loss of the head tree]:NUM:' \
        '--help[list the options]' '*:file:_files' ;;
    pretrain) _arguments \
        '*-i[FASTA with an index (samtools faidx), or diplotype text; plain or BGZF]:FILE:_files' \
        '*--input[FASTA with an index (samtools faidx), or diplotype text; plain or BGZF]:FILE:_files' \
        '*--window[bases per window, at most]:NUM:' \
        '*--window-min[draw lengths from here to --window; 0\: all alike]:NUM:' \
        '*--windows-per-epoch[windows of an epoch; 0\: the whole genome once]:NUM:' \
        '*--max-unknown[leave out windows with more letters other than A, C, G, T]:SHARE:' \
        '*--rc[reverse-complement half of the windows]' \
        '*--skip-contigs[contigs to leave out, with commas]:LIST:' \
        '*--val-contigs[contigs kept for validation, with commas]:LIST:' \
        '*--val-regions[regions kept for validation]:BED:_files' \
        '*--valid-frac[else this share of the genome, in blocks of at most 64 windows]:NUM:' \
        '*--valid-windows[windows to validate with; 0\: all]:NUM:' \
        '*--mask-ratio[share of the tokens that are to be told]:NUM:' \
        '*--mask-span[bases, or pieces, chosen in a row]:NUM:' \
        '*--mask-hide[share of the chosen that is hidden]:NUM:' \
        '*--mask-swap[share of the chosen that other tokens are put for; the rest stays]:NUM:' \
        '*--decoder[between encoder and answer\: linear, or light (convolutions of half the width)]:NAME:(linear light)' \
        '*--decoder-layers[layers of the light decoder]:NUM:' \
        '*-B[most tokens computed at once]:NUM:' \
        '*--batch-tokens[most tokens computed at once]:NUM:' \
        '*--step-records[samples per step, of all lengths; 0\: see --accumulate]:NUM:' \
        '*--accumulate[batches per step]:NUM:' \
        '*--optimizer[adam or adamw]:NAME:(adam adamw)' \
        '*--lr[learning rate]:NUM:' \
        '*--beta1[decay of the first moment]:NUM:' \
        '*--beta2[decay of the second moment]:NUM:' \
        '*--eps[added to the root of the second moment]:NUM:' \
        '*--weight-decay[weight decay, of all parameters]:NUM:' \
        '*--keep-zero-grad[step tensors that a step did not use, once they have been used]' \
        '*--schedule[constant, linear, cosine or polynomial decay to the last step]:NAME:(constant linear cosine polynomial)' \
        '*--warmup[steps of linear warm-up; below 1\: share of all steps]:NUM:' \
        '*--cycles[waves of the cosine; 0.5 ends at zero]:NUM:' \
        '*--power[power of the polynomial decay]:NUM:' \
        '*--lr-end[learning rate at the end of the polynomial decay]:NUM:' \
        '*--clip[largest norm of the gradient; 0\: any]:NUM:' \
        '*--ema[decay of the averaged weights; 0\: no averaging]:NUM:' \
        '*--epochs[epochs in all]:NUM:' \
        '*--max-steps[end the run and its schedule after so many steps; 0\: by epochs]:NUM:' \
        '*--patience[stop after so many epochs without improvement; 0\: never]:NUM:' \
        '*--seed[seed of all randomness]:NUM:' \
        '*-o[the model; written when validation improves]:FILE:_files' \
        '*--output[the model; written when validation improves]:FILE:_files' \
        '*--metrics[table with one row per epoch]:FILE:_files' \
        '*--checkpoint[written after every epoch and at the end (default\: the model'\''s name with .ckpt)]:FILE:_files' \
        '*--checkpoint-steps[and after every so many steps]:NUM:' \
        '*--resume[go on from the checkpoint, with the same options and data]' \
        '*--stop-after[pause after so many steps of this run; 0\: do not]:NUM:' \
        '*--max-time[pause after so long; 0\: do not]:SECONDS:' \
        '*--ranks[learn on so many processes, started here; env\: on those of a launcher]:NUM:' \
        '*--ranks-timeout[give up when a rank is silent for so long; 0\: never]:SECONDS:' \
        '*--checkpoint-blocks[inputs of blocks that training keeps of a batch; auto\: all that blocks compute]:NUM:' \
        '*--recompute[keep the inputs of all blocks, and nothing else of them]' \
        '*-@[threads that work at once, all together (default\: one per processor)]:NUM:' \
        '*--threads[threads that work at once, all together (default\: one per processor)]:NUM:' \
        '*--device[what the network computes on\: cpu, cuda, cuda\:NUMBER,... or auto]:NAME:' \
        '*--precision[numbers that go into a GPU'\''s products\: fp32, tf32, bf16 or auto]:KIND:(auto fp32 tf32 bf16)' \
        '*-q[print nothing but errors]' \
        '*--quiet[print nothing but errors]' \
        '*-v[say more about the run; twice\: say everything]' \
        '*--verbose[say more about the run; twice\: say everything]' \
        '*--force[write outputs also over files of sequences, alignments or variants]' \
        '*--tokenizer[how bases become tokens]:NAME:(base kmer bpe diplotype)' \
        '*--encoder[the network]:NAME:(chordmixer transformer linformer lowrank fkernel singularformer cdil psf paramixer)' \
        '*--tokenizer.k[bases per token]:NUM:' \
        '*--tokenizer.stride[bases from one token to the next]:NUM:' \
        '*--tokenizer.canonical[give a word and its reverse complement the same token]' \
        '*--tokenizer.file[vocabulary and merges, as tokenizer.json]:FILE:_files' \
        '*--encoder.max-len[most tokens of a sequence]:NUM:' \
        '*--encoder.track[channels per track]:NUM:' \
        '*--encoder.hidden[hidden units of each block]:NUM:' \
        '*--encoder.norm[normalisation after the residual\: none, layer, batch or group]:KIND:(none layer batch group)' \
        '*--encoder.prenorm[normalisation before the first linear layer]:KIND:(none layer batch group)' \
        '*--encoder.dropout[share of hidden units left out in training]:RATE:' \
        '*--encoder.depth[blocks a sequence passes\: own (by its length), all or none]:RULE:(own all none)' \
        '*--encoder.init[initial weights of the second linear layers\: xavier or identity]:RULE:(xavier identity)' \
        '*--encoder.reversible[two coupled halves\: training memory does not grow with the number of blocks]' \
        '*--encoder.dim[channels of a token]:NUM:' \
        '*--encoder.heads[attention heads; they divide the channels]:NUM:' \
        '*--encoder.layers[layers, each attention and a feed-forward network]:NUM:' \
        '*--encoder.hidden[hidden units of the feed-forward networks]:NUM:' \
        '*--encoder.norm[layer normalisation after the residual (post) or before (pre)]:PLACE:(post pre)' \
        '*--encoder.act[activation of the feed-forward networks\: gelu or relu]:KIND:(gelu relu)' \
        '*--encoder.position[positions added to the tokens\: none, sinusoid or learned]:KIND:(none sinusoid learned)' \
        '*--encoder.max-len[most tokens of a sequence, where positions are added]:NUM:' \
        '*--encoder.dropout[share of values left out in training]:RATE:' \
        '*--encoder.max-len[most tokens of a sequence]:NUM:' \
        '*--encoder.dim[channels of a token]:NUM:' \
        '*--encoder.heads[attention heads]:NUM:' \
        '*--encoder.head[channels of a head; 0\: those of a token, divided among the heads]:NUM:' \
        '*--encoder.layers[layers, each attention and a feed-forward network]:NUM:' \
        '*--encoder.hidden[hidden units of the feed-forward networks]:NUM:' \
        '*--encoder.k[sums that stand for all keys, and for all values]:NUM:' \
        '*--encoder.norm[layer normalisation before the residual (pre) or after (post)]:PLACE:(pre post)' \
        '*--encoder.act[activation of the feed-forward networks\: gelu or relu]:KIND:(gelu relu)' \
        '*--encoder.values[values of their own (own), or the keys for values (keys)]:KIND:(own keys)' \
        '*--encoder.kv-heads[keys and values for all heads, or one head of them that all share]:KIND:(all one)' \
        '*--encoder.position[positions added to the tokens\: learned or none]:KIND:(learned none)' \
        '*--encoder.dropout[share of values left out in training]:RATE:' \
        '*--encoder.max-len[most tokens of a sequence, where positions are added]:NUM:' \
        '*--encoder.input[channels of the embedded input; 0\: those of a token]:NUM:' \
        '*--encoder.dim[channels of a token]:NUM:' \
        '*--encoder.heads[attention heads]:NUM:' \
        '*--encoder.key[channels of a head'\''s queries and keys; 0\: a token'\''s divided among the heads]:NUM:' \
        '*--encoder.value[channels of a head'\''s values; 0\: as key]:NUM:' \
        '*--encoder.layers[layers, each attention and a feed-forward network]:NUM:' \
        '*--encoder.hidden[hidden units of the feed-forward networks]:NUM:' \
        '*--encoder.rank[rank of the factorised layers]:NUM:' \
        '*--encoder.form[the authors'\'' code, or the paper'\''s equations]:KIND:(code paper)' \
        '*--encoder.factor[which layers are factorised\: all, or attention only]:WHICH:(all attention)' \
        '*--encoder.position[positions added to the tokens\: sinusoid or none]:KIND:(sinusoid none)' \
        '*--encoder.dropout[share of values left out in training]:RATE:' \
        '*--encoder.dim[channels of a token]:NUM:' \
        '*--encoder.heads[attention heads; they divide the channels]:NUM:' \
        '*--encoder.layers[layers, each attention and a feed-forward network]:NUM:' \
        '*--encoder.hidden[hidden units of the feed-forward networks]:NUM:' \
        '*--encoder.kernel[features\: linear (softplus), glu (gated) or aglu (gates of low rank)]:KIND:(linear glu aglu)' \
        '*--encoder.units[gated units, one after the other]:NUM:' \
        '*--encoder.rank[rank of aglu'\''s gates]:NUM:' \
        '*--encoder.features[feature weights of its own for every head (own), or one for all (shared)]:KIND:(own shared)' \
        '*--encoder.ortho[weight in the loss of how far feature weights are from orthogonal]:NUM:' \
        '*--encoder.position[positions added to the tokens\: none, sinusoid or learned]:KIND:(none sinusoid learned)' \
        '*--encoder.max-len[most tokens of a sequence, where positions are added]:NUM:' \
        '*--encoder.dropout[share of values left out in training]:RATE:' \
        '*--encoder.max-len[most tokens of a sequence, where positions are added]:NUM:' \
        '*--encoder.dim[channels of a token]:NUM:' \
        '*--encoder.heads[attention heads]:NUM:' \
        '*--encoder.head[channels of a head; 0\: those of a token, divided among the heads]:NUM:' \
        '*--encoder.layers[layers, each attention and a feed-forward network]:NUM:' \
        '*--encoder.hidden[hidden units of the feed-forward networks]:NUM:' \
        '*--encoder.rank[weighted sums over the tokens that attend to each other]:NUM:' \
        '*--encoder.gamma[weight in the loss of the regularisers]:NUM:' \
        '*--encoder.penalty[regularisers of the authors'\'' code, or of the paper]:KIND:(code paper)' \
        '*--encoder.scores[scores divided by the root of a head'\''s channels (scaled), or not (plain)]:KIND:(scaled plain)' \
        '*--encoder.position[positions added to the tokens\: sinusoid (a third of it) or none]:KIND:(sinusoid none)' \
        '*--encoder.dropout[share of values left out in training]:RATE:' \
        '*--encoder.max-len[tokens that the layers must span]:NUM:' \
        '*--encoder.layers[layers of a stack; 0\: by max-len]:NUM:' \
        '*--encoder.depth[layers a sequence passes\: own (by its length) or all]:RULE:(own all)' \
        '*--encoder.channels[channels, or those of every layer\: 8,12,16,16]:LIST:' \
        '*--encoder.decoder[channels of a second stack on the first; 0\: none]:LIST:' \
        '*--encoder.input[channels of the embedded input; 0\: those of the first layer]:NUM:' \
        '*--encoder.kernel[taps of a convolution, an odd number]:NUM:' \
        '*--encoder.dilation[tokens between the taps of the first layer; every next layer has twice as many]:NUM:' \
        '*--encoder.convs[convolutions of a layer\: two (CDIL for DNA) or one (CDIL-CNN)]:NUM:(two one)' \
        '*--encoder.hidden[channels between the two; 0\: twice those of the stack'\''s first layer]:NUM:' \
        '*--encoder.norm[normalisation\: none, weight (CDIL-CNN), batch (CDIL for DNA) or layer]:KIND:(none weight batch layer)' \
        '*--encoder.dropout[share of a convolution'\''s outputs left out in training]:RATE:' \
        '*--encoder.max-len[most tokens of a sequence]:NUM:' \
        '*--encoder.factors[factors that every sequence passes; 0\: by its length]:NUM:' \
        '*--encoder.input[channels of the embedded input; 0\: as channels]:NUM:' \
        '*--encoder.channels[channels of a token'\''s vector]:NUM:' \
        '*--encoder.hidden[hidden units of the networks that compute factors]:NUM:' \
        '*--encoder.g-hidden[hidden units of the network that computes what they multiply; 0\: as hidden]:NUM:' \
        '*--encoder.residual[added after every factor\: first, last or none]:KIND:(first last none)' \
        '*--encoder.position[positions added to the tokens\: none or learned]:KIND:(none learned)' \
        '*--encoder.dropout[share of the input'\''s values left out in training]:RATE:' \
        '*--encoder.max-len[most tokens of a sequence]:NUM:' \
        '*--encoder.layers[layers, each with factors of its own]:NUM:' \
        '*--encoder.factors[factors that every sequence passes in a layer; 0\: by its length]:NUM:' \
        '*--encoder.protocol[which tokens are linked\: chord or cdil]:KIND:(chord cdil)' \
        '*--encoder.channels[channels of a token'\''s vector]:NUM:' \
        '*--encoder.hidden[hidden units of the networks that compute factors]:NUM:' \
        '*--encoder.residual[added after every factor\: last, first or none]:KIND:(last first none)' \
        '*--encoder.position[positions added to the tokens\: none or learned]:KIND:(none learned)' \
        '*--encoder.dropout[share of the input'\''s values left out in training]:RATE:' \
        '--help[list the options]' '*:file:_files' ;;
    eval) _arguments \
        '*-i[read this file; '\''-'\'' is standard input]:FILE:_files' \
        '*--input[read this file; '\''-'\'' is standard input]:FILE:_files' \
        '*--input-list[read the files that this one names, one a line; '\''-'\''\: stdin]:FILE:_files' \
        '*--reference[FASTA file that CRAM input was compressed against]:FILE:_files' \
        '*-f[of SAM, BAM and CRAM, read only alignments with all of these FLAG bits]:FLAGS:' \
        '*--require-flags[of SAM, BAM and CRAM, read only alignments with all of these FLAG bits]:FLAGS:' \
        '*-F[and with none of these]:FLAGS:' \
        '*--exclude-flags[and with none of these]:FLAGS:' \
        '*-r[read only alignments that overlap it, as NAME or NAME\:FROM-TO]:REGION:' \
        '*--region[read only alignments that overlap it, as NAME or NAME\:FROM-TO]:REGION:' \
        '*--labels[table\: record name, then its class or its values]:TSV:_files' \
        '*--label-key[the label follows '\''KEY='\'' in the record'\''s header line]:KEY:' \
        '*--class[every record of this file has this class]:CLASS=FILE:_files' \
        '*--label-map[table\: label found, class that it stands for]:TSV:_files' \
        '*--intervals[table\: record, start, end, class, for every stretch that has one]:BED:_files' \
        '*--background[class of all bases outside of intervals]:CLASS:' \
        '*--skip-unlabelled[leave records without a label out instead of refusing them]' \
        '*--split[table\: record name, then train, valid or skip, then its group if there is a column]:TSV:_files' \
        '*--split-by[keep records with the same '\''KEY='\'' in their header on one side of the split]:KEY:' \
        '*-m[model file (default\: the model that comes with chordseq)]:FILE:_files' \
        '*--model[model file (default\: the model that comes with chordseq)]:FILE:_files' \
        '*--strand[forward, both, or model\: what the model file states]:NAME:(model forward both)' \
        '*--long-sequence[whole, window, error, cpu or fit\: what is done with long sequences]:NAME:(whole window error cpu fit)' \
        '*--window-length[bases of a window; 0\: as many as the model takes]:NUM:' \
        '*--window-overlap[bases that neighbouring windows share at least]:NUM:' \
        '*--max-memory[most memory of the network for one sequence; 0\: what there is]:BYTES:' \
        '*--min-length[fewest bases of a sequence that is answered; 0\: what one token needs]:NUM:' \
        '*--max-unknown[largest share of letters other than A, C, G and T]:SHARE:' \
        '*--bins[lengths that separate the bins, in bases, with commas]:LIST:' \
        '*--fragments[also evaluate pieces of these lengths, cut from the records]:LIST:' \
        '*--fragments-per-record[most pieces of each length from one record]:NUM:' \
        '*--tolerance[a value predicted this well counts as correct]:NUM:' \
        '*--threshold[with head multilabel, the probability from which a label is called]:NUM:' \
        '*--seed[seed of the places of pieces]:NUM:' \
        '*-B[tokens computed at once, or auto]:NUM:' \
        '*--batch-tokens[tokens computed at once, or auto]:NUM:' \
        '*-o[table of all metrics; '\''-'\'' is standard output]:FILE:_files' \
        '*--output[table of all metrics; '\''-'\'' is standard output]:FILE:_files' \
        '*--json[the same as one JSON object]:FILE:_files' \
        '*--html[a page to look at\: classes, confusion, curves, lengths, certainty]:FILE:_files' \
        '*--calibrate[fit temperatures and error rates, and write the model with them]:FILE:_files' \
        '*-@[threads that work at once, all together (default\: one per processor)]:NUM:' \
        '*--threads[threads that work at once, all together (default\: one per processor)]:NUM:' \
        '*--device[what the network computes on\: cpu, cuda, cuda\:NUMBER,... or auto]:NAME:' \
        '*--precision[numbers that go into a GPU'\''s products\: fp32, tf32, bf16 or auto]:KIND:(auto fp32 tf32 bf16)' \
        '*-q[print nothing but errors]' \
        '*--quiet[print nothing but errors]' \
        '*-v[say more about the run; twice\: say everything]' \
        '*--verbose[say more about the run; twice\: say everything]' \
        '*--force[write outputs also over files of sequences, alignments or variants]' \
        '--help[list the options]' '*:file:_files' ;;
    simulate) _arguments \
        '*-n[records, or persons, to write]:NUM:' \
        '*--records[records, or persons, to write]:NUM:' \
        '*--lambda[adding\: scale of the lengths]:NUM:' \
        '*--max-len[adding\: longest record]:NUM:' \
        '*--length[xor, temporal-order\: length of every record]:NUM:' \
        '*--seed[seed of all randomness]:NUM:' \
        '*-o[write here; '\''-'\'' is standard output]:FILE:_files' \
        '*--output[write here; '\''-'\'' is standard output]:FILE:_files' \
        '*-i[sites and alleles\: VCF or BCF]:VCF:_files' \
        '*--input[sites and alleles\: VCF or BCF]:VCF:_files' \
        '*-r[only sites of contig\:from-to]:REGION:' \
        '*--region[only sites of contig\:from-to]:REGION:' \
        '*--frequencies[of alleles\: those of the file, or draw them]:FROM:(file draw)' \
        '*--min-freq[leave out sites whose REF or ALT is rarer]:NUM:' \
        '*--ld-scale[distance at which neighbours'\'' correlation has fallen to 1/e; 0\: independent sites]:BASES:' \
        '*--causal[sites with an effect]:NUM:' \
        '*--heritability[share of the liability'\''s variance that they make]:SHARE:' \
        '*--prevalence[cases in the population]:SHARE:' \
        '*--case-share[cases in the cohort; 0\: as they come]:SHARE:' \
        '*--labels[write each person'\''s class, case or control]:FILE:_files' \
        '*--liabilities[write each person'\''s liability, and its genetic part]:FILE:_files' \
        '*--effects[write the sites with an effect]:FILE:_files' \
        '*-q[print nothing but errors]' \
        '*--quiet[print nothing but errors]' \
        '*-v[say more about the run; twice\: say everything]' \
        '*--verbose[say more about the run; twice\: say everything]' \
        '*--force[write outputs also over files of sequences, alignments or variants]' \
        '1:what:(adding xor temporal-order cohort)' \
        '--help[list the options]' '*:file:_files' ;;
    tokenize) _arguments \
        '*-i[read this file; '\''-'\'' is standard input]:FILE:_files' \
        '*--input[read this file; '\''-'\'' is standard input]:FILE:_files' \
        '*--input-list[read the files that this one names, one a line; '\''-'\''\: stdin]:FILE:_files' \
        '*--reference[FASTA file that CRAM input was compressed against]:FILE:_files' \
        '*-f[of SAM, BAM and CRAM, read only alignments with all of these FLAG bits]:FLAGS:' \
        '*--require-flags[of SAM, BAM and CRAM, read only alignments with all of these FLAG bits]:FLAGS:' \
        '*-F[and with none of these]:FLAGS:' \
        '*--exclude-flags[and with none of these]:FLAGS:' \
        '*-r[read only alignments that overlap it, as NAME or NAME\:FROM-TO]:REGION:' \
        '*--region[read only alignments that overlap it, as NAME or NAME\:FROM-TO]:REGION:' \
        '*-m[a tokenizer.json, or a model whose tokenizer is wanted]:FILE:_files' \
        '*--model[a tokenizer.json, or a model whose tokenizer is wanted]:FILE:_files' \
        '*--format[what is written of a token\: pieces (its text) or ids]:FORMAT:(pieces ids)' \
        '*-o[write here; '\''-'\'' is standard output]:FILE:_files' \
        '*--output[write here; '\''-'\'' is standard output]:FILE:_files' \
        '*--learn[learn a vocabulary and write it as tokenizer.json\: bpe]:KIND:' \
        '*--alphabet[what pieces are made of\: bases or diplotypes]:NAME:(bases diplotypes)' \
        '*--vocab-size[pieces in all, with five special ones and the alphabet]:NUM:' \
        '*--max-piece[symbols of the longest piece]:NUM:' \
        '*--min-count[a pair that occurs less often is not merged]:NUM:' \
        '*--sentences[learn from that many random pieces of the input (0\: from all of it)]:NUM:' \
        '*--sentence-min[symbols of the shortest sentence]:NUM:' \
        '*--sentence-max[symbols of the longest sentence]:NUM:' \
        '*--seed[seed of the choice of sentences]:NUM:' \
        '*-@[threads that work at once, all together (default\: one per processor)]:NUM:' \
        '*--threads[threads that work at once, all together (default\: one per processor)]:NUM:' \
        '*-q[print nothing but errors]' \
        '*--quiet[print nothing but errors]' \
        '*-v[say more about the run; twice\: say everything]' \
        '*--verbose[say more about the run; twice\: say everything]' \
        '*--force[write outputs also over files of sequences, alignments or variants]' \
        '--help[list the options]' '*:file:_files' ;;
    diplotype) _arguments \
        '*-i[read this file; '\''-'\'' is standard input]:FILE:_files' \
        '*--input[read this file; '\''-'\'' is standard input]:FILE:_files' \
        '*-f[FASTA file that the input refers to]:FILE:_files' \
        '*--reference[FASTA file that the input refers to]:FILE:_files' \
        '*-r[only this part\: contig, contig\:from or contig\:from-to (may be repeated)]:REGION:' \
        '*--region[only this part\: contig, contig\:from or contig\:from-to (may be repeated)]:REGION:' \
        '*-R[only the parts that this BED file names]:FILE:_files' \
        '*--regions-file[only the parts that this BED file names]:FILE:_files' \
        '*-o[write here; '\''-'\'' is standard output]:FILE:_files' \
        '*--output[write here; '\''-'\'' is standard output]:FILE:_files' \
        '*--skip-flags[leave out reads with any of these SAM flags]:NUM:' \
        '*--min-mapq[least mapping quality of a read]:NUM:' \
        '*--min-baseq[least quality of a base]:NUM:' \
        '*--max-depth[reads over one site; more are left out]:NUM:' \
        '*--min-depth[a site with fewer reads that count is N]:NUM:' \
        '*--min-count[least reads of a second allele]:NUM:' \
        '*--min-frac[least share of a second allele]:NUM:' \
        '*-s[only this sample (may be repeated; default\: all)]:NAME:' \
        '*--sample[only this sample (may be repeated; default\: all)]:NAME:' \
        '*--absent[what a site without a record is\: reference or unknown]:NAME:(reference unknown)' \
        '*--all-filters[take records that a filter has refused, too]' \
        '*--max-memory[most bytes for the haplotypes of one region\: one per site and sample]:NUM:' \
        '*-@[threads that work at once, all together (default\: one per processor)]:NUM:' \
        '*--threads[threads that work at once, all together (default\: one per processor)]:NUM:' \
        '*-q[print nothing but errors]' \
        '*--quiet[print nothing but errors]' \
        '*-v[say more about the run; twice\: say everything]' \
        '*--verbose[say more about the run; twice\: say everything]' \
        '*--force[write outputs also over files of sequences, alignments or variants]' \
        '--help[list the options]' '*:file:_files' ;;
    model) _arguments \
        '*--license[licence that the model card names]:ID:' \
        '*--precision[least precise numbers that the model'\''s answers were checked with]:KIND:(fp32 tf32 bf16)' \
        '*--alphabet[bases that the checkpoint'\''s input channels are for]:LETTERS:' \
        '*--taxonomy[table of taxa, or folder with NCBI'\''s taxonomy dump; kept in the model]:FILE:_files' \
        '*--taxa[with such a folder, a table as above for classes that it calls otherwise]:FILE:_files' \
        '*--lineage[labels are lineages, with '\'';'\'' between; the ranks of their parts, with commas]:RANKS:' \
        '*--rank[rank of every linear layer; below 1\: share of the layer'\''s smaller side]:NUM:' \
        '*--energy[instead\: the least rank that keeps this share of a layer'\''s weights, squared]:SHARE:' \
        '*-o[write the thin model here]:FILE:_files' \
        '*--output[write the thin model here]:FILE:_files' \
        '*-i[read this file; '\''-'\'' is standard input]:FILE:_files' \
        '*--input[read this file; '\''-'\'' is standard input]:FILE:_files' \
        '*--input-list[read the files that this one names, one a line; '\''-'\''\: stdin]:FILE:_files' \
        '*--reference[FASTA file that CRAM input was compressed against]:FILE:_files' \
        '*-f[of SAM, BAM and CRAM, read only alignments with all of these FLAG bits]:FLAGS:' \
        '*--require-flags[of SAM, BAM and CRAM, read only alignments with all of these FLAG bits]:FLAGS:' \
        '*-F[and with none of these]:FLAGS:' \
        '*--exclude-flags[and with none of these]:FLAGS:' \
        '*-r[read only alignments that overlap it, as NAME or NAME\:FROM-TO]:REGION:' \
        '*--region[read only alignments that overlap it, as NAME or NAME\:FROM-TO]:REGION:' \
        '*--labels[table\: record name, then its class or its values]:TSV:_files' \
        '*--label-key[the label follows '\''KEY='\'' in the record'\''s header line]:KEY:' \
        '*--class[every record of this file has this class]:CLASS=FILE:_files' \
        '*--label-map[table\: label found, class that it stands for]:TSV:_files' \
        '*--intervals[table\: record, start, end, class, for every stretch that has one]:BED:_files' \
        '*--background[class of all bases outside of intervals]:CLASS:' \
        '*--skip-unlabelled[leave records without a label out instead of refusing them]' \
        '*--split[table\: record name, then train, valid or skip, then its group if there is a column]:TSV:_files' \
        '*--split-by[keep records with the same '\''KEY='\'' in their header on one side of the split]:KEY:' \
        '*-q[print nothing but errors]' \
        '*--quiet[print nothing but errors]' \
        '*-v[say more about the run; twice\: say everything]' \
        '*--verbose[say more about the run; twice\: say everything]' \
        '*--force[write outputs also over files of sequences, alignments or variants]' \
        '1:what:(show verify factorize export import label checked)' \
        '--help[list the options]' '*:file:_files' ;;
    factorize) _arguments \
        '*-i[square matrix to factorise, NPY; '\''-'\'' is standard input]:FILE:_files' \
        '*--input[square matrix to factorise, NPY; '\''-'\'' is standard input]:FILE:_files' \
        '*-o[write the factors as PREFIX.1.npy, PREFIX.2.npy ... and PREFIX.index.npy]:PREFIX:' \
        '*--output[write the factors as PREFIX.1.npy, PREFIX.2.npy ... and PREFIX.index.npy]:PREFIX:' \
        '*--dense[write every factor with its zeros, and no index]' \
        '*--plot[draw the matrix, the product and the truncated SVD\: *.svg or *.png]:FILE:_files' \
        '*--factors[number of factors; 0\: log2 of the matrix'\''s side, rounded up]:NUM:' \
        '*--steps[steps of Adam]:NUM:' \
        '*--lr[learning rate at its highest]:NUM:' \
        '*--seed[seed of the first weights]:NUM:' \
        '*-@[threads (default\: one per processor)]:NUM:' \
        '*--threads[threads (default\: one per processor)]:NUM:' \
        '*-q[print nothing but errors]' \
        '*--quiet[print nothing but errors]' \
        '*-v[say more about the run; twice\: say everything]' \
        '*--verbose[say more about the run; twice\: say everything]' \
        '*--force[write outputs also over files of sequences, alignments or variants]' \
        '--help[list the options]' '*:file:_files' ;;
    bench) _arguments \
        '*--encoder[measure this one; may be given several times (default\: all)]:NAME[\:OPTION=VALUE...]:' \
        '*--min-len[shortest sequence, in tokens; the next ones are twice as long]:NUM:' \
        '*--max-len[longest sequence]:NUM:' \
        '*--width[channels of a token, or the nearest that the encoder can have]:NUM:' \
        '*--repeats[passes whose median time is told]:NUM:' \
        '*--max-seconds[longest time for one length, and longest pass that is begun]:NUM:' \
        '*--max-memory[most memory for the activations of a pass]:BYTES:' \
        '*--seed[seed of weights and tokens]:NUM:' \
        '*-o[write here; '\''-'\'' is standard output]:FILE:_files' \
        '*--output[write here; '\''-'\'' is standard output]:FILE:_files' \
        '*--checkpoint-blocks[inputs of blocks that training keeps of a batch; auto\: all that blocks compute]:NUM:' \
        '*--recompute[keep the inputs of all blocks, and nothing else of them]' \
        '*-@[threads that work at once, all together (default\: one per processor)]:NUM:' \
        '*--threads[threads that work at once, all together (default\: one per processor)]:NUM:' \
        '*--device[what the network computes on\: cpu, cuda, cuda\:NUMBER,... or auto]:NAME:' \
        '*--precision[numbers that go into a GPU'\''s products\: fp32, tf32, bf16 or auto]:KIND:(auto fp32 tf32 bf16)' \
        '*-q[print nothing but errors]' \
        '*--quiet[print nothing but errors]' \
        '*-v[say more about the run; twice\: say everything]' \
        '*--verbose[say more about the run; twice\: say everything]' \
        '*--force[write outputs also over files of sequences, alignments or variants]' \
        '1:what:(encoders)' \
        '--help[list the options]' '*:file:_files' ;;
    selftest) _arguments \
        '*--vectors[folder with models and what they answer (default\: the installed one)]:DIR:_files' \
        '*-m[the default model (default\: the installed one)]:FILE:_files' \
        '*--model[the default model (default\: the installed one)]:FILE:_files' \
        '*-@[threads that work at once, all together (default\: one per processor)]:NUM:' \
        '*--threads[threads that work at once, all together (default\: one per processor)]:NUM:' \
        '*-q[print nothing but errors]' \
        '*--quiet[print nothing but errors]' \
        '*-v[say more about the run; twice\: say everything]' \
        '*--verbose[say more about the run; twice\: say everything]' \
        '*--force[write outputs also over files of sequences, alignments or variants]' \
        '--help[list the options]' '*:file:_files' ;;
    help) compadd classify predict embed merge completion variant explain train pretrain eval simulate tokenize diplotype model factorize bench selftest help ;;
    esac
}
_chordseq "$@"
