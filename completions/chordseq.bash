# chordseq - completion for bash, written by 'chordseq completion bash'.

_chordseq()
{
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} words=
    COMPREPLY=()
    # --option=value is three words
    [ "$prev" != = ] || prev=${COMP_WORDS[COMP_CWORD-2]}
    [ "$cur" != = ] || cur=
    if [ "$COMP_CWORD" -eq 1 ]; then
        words='classify predict embed merge completion variant explain train pretrain eval simulate tokenize diplotype model factorize bench selftest help --help --version'
    else
    case ${COMP_WORDS[1]}:$prev in
    classify:--input-fmt) words='auto fasta fastq sam bam cram' ;;
    classify:--model|classify:-m) [ -n "$cur" ] && compgen -f -- "$cur" > /dev/null || words='default fast accurate taxa variant variant-exons human-lm' ;;
    classify:--strand) words='model forward both max weighted' ;;
    classify:--long-sequence) words='whole window error cpu fit' ;;
    classify:--call) words='auto class taxon' ;;
    classify:--output-fmt|classify:-O) words='auto sam bam cram' ;;
    classify:--precision) words='auto fp32 tf32 bf16' ;;
    classify:--check-finite) words='off on' ;;
    predict:--input-fmt) words='auto fasta fastq sam bam cram' ;;
    predict:--model|predict:-m) [ -n "$cur" ] && compgen -f -- "$cur" > /dev/null || words='default fast accurate taxa variant variant-exons human-lm' ;;
    predict:--strand) words='model forward both max weighted' ;;
    predict:--long-sequence) words='whole window error cpu fit' ;;
    predict:--format) words='bed tsv bedgraph auto' ;;
    predict:--precision) words='auto fp32 tf32 bf16' ;;
    predict:--check-finite) words='off on' ;;
    embed:--input-fmt) words='auto fasta fastq sam bam cram' ;;
    embed:--model|embed:-m) [ -n "$cur" ] && compgen -f -- "$cur" > /dev/null || words='default fast accurate taxa variant variant-exons human-lm' ;;
    embed:--strand) words='model forward both max weighted' ;;
    embed:--long-sequence) words='whole window error cpu fit' ;;
    embed:--format) words='auto npy npz tsv' ;;
    embed:--vector) words='pooled hidden' ;;
    embed:--precision) words='auto fp32 tf32 bf16' ;;
    embed:--check-finite) words='off on' ;;
    variant:--output-type|variant:-O) words='auto v z u b' ;;
    variant:--score) words='auto model embedding llr' ;;
    variant:--ends) words='skip fill' ;;
    variant:--strand) words='model forward both max weighted' ;;
    variant:--model|variant:-m) [ -n "$cur" ] && compgen -f -- "$cur" > /dev/null || words='default fast accurate taxa variant variant-exons human-lm' ;;
    variant:--precision) words='auto fp32 tf32 bf16' ;;
    variant:--check-finite) words='off on' ;;
    explain:--method) words='mutagenesis gradient integrated deeplift' ;;
    explain:--baseline) words='unknown zero shuffled' ;;
    explain:--value) words='logit probability' ;;
    explain:--model|explain:-m) [ -n "$cur" ] && compgen -f -- "$cur" > /dev/null || words='default fast accurate taxa variant variant-exons human-lm' ;;
    explain:--precision) words='auto fp32 tf32 bf16' ;;
    train:--input-fmt) words='auto fasta fastq sam bam cram' ;;
    train:--optimizer) words='adam adamw' ;;
    train:--schedule) words='constant linear cosine polynomial' ;;
    train:--preset) words='fast balanced best none auto' ;;
    train:--monitor) words='auto balanced-accuracy loss' ;;
    train:--init) [ -n "$cur" ] && compgen -f -- "$cur" > /dev/null || words='default fast accurate taxa variant variant-exons human-lm' ;;
    train:--freeze) words='none encoder' ;;
    train:--strand) words='auto forward both max weighted' ;;
    train:--ends) words='skip fill' ;;
    train:--precision) words='auto fp32 tf32 bf16' ;;
    train:--tokenizer) words='base kmer codon orf frames bpe diplotype' ;;
    train:--encoder) words='chordmixer transformer linformer lowrank fkernel singularformer cdil psf paramixer' ;;
    train:--head) words='class tree multilabel regress token variant' ;;
    train:--encoder.norm) words='none layer batch group post pre weight' ;;
    train:--encoder.prenorm) words='none layer batch group' ;;
    train:--encoder.depth) words='own all none' ;;
    train:--encoder.init) words='xavier identity' ;;
    train:--encoder.act) words='gelu relu' ;;
    train:--encoder.position) words='none sinusoid learned' ;;
    train:--encoder.values) words='own keys' ;;
    train:--encoder.kv-heads) words='all one' ;;
    train:--encoder.form) words='code paper' ;;
    train:--encoder.factor) words='all attention' ;;
    train:--encoder.kernel) words='linear glu aglu' ;;
    train:--encoder.features) words='own shared' ;;
    train:--encoder.penalty) words='code paper' ;;
    train:--encoder.scores) words='scaled plain' ;;
    train:--encoder.convs) words='two one' ;;
    train:--encoder.residual) words='first last none' ;;
    train:--encoder.protocol) words='chord cdil' ;;
    train:--head.predictor) words='none cdil' ;;
    train:--head.predictor-norm) words='none weight batch layer' ;;
    train:--head.norm) words='none layer' ;;
    train:--head.compare) words='pooled hidden context' ;;
    pretrain:--decoder) words='linear light' ;;
    pretrain:--optimizer) words='adam adamw' ;;
    pretrain:--schedule) words='constant linear cosine polynomial' ;;
    pretrain:--precision) words='auto fp32 tf32 bf16' ;;
    pretrain:--tokenizer) words='base kmer codon orf frames bpe diplotype' ;;
    pretrain:--encoder) words='chordmixer transformer linformer lowrank fkernel singularformer cdil psf paramixer' ;;
    pretrain:--encoder.norm) words='none layer batch group post pre weight' ;;
    pretrain:--encoder.prenorm) words='none layer batch group' ;;
    pretrain:--encoder.depth) words='own all none' ;;
    pretrain:--encoder.init) words='xavier identity' ;;
    pretrain:--encoder.act) words='gelu relu' ;;
    pretrain:--encoder.position) words='none sinusoid learned' ;;
    pretrain:--encoder.values) words='own keys' ;;
    pretrain:--encoder.kv-heads) words='all one' ;;
    pretrain:--encoder.form) words='code paper' ;;
    pretrain:--encoder.factor) words='all attention' ;;
    pretrain:--encoder.kernel) words='linear glu aglu' ;;
    pretrain:--encoder.features) words='own shared' ;;
    pretrain:--encoder.penalty) words='code paper' ;;
    pretrain:--encoder.scores) words='scaled plain' ;;
    pretrain:--encoder.convs) words='two one' ;;
    pretrain:--encoder.residual) words='first last none' ;;
    pretrain:--encoder.protocol) words='chord cdil' ;;
    eval:--input-fmt) words='auto fasta fastq sam bam cram' ;;
    eval:--model|eval:-m) [ -n "$cur" ] && compgen -f -- "$cur" > /dev/null || words='default fast accurate taxa variant variant-exons human-lm' ;;
    eval:--strand) words='model forward both max weighted' ;;
    eval:--long-sequence) words='whole window error cpu fit' ;;
    eval:--precision) words='auto fp32 tf32 bf16' ;;
    simulate:--frequencies) words='file draw' ;;
    tokenize:--input-fmt) words='auto fasta fastq sam bam cram' ;;
    tokenize:--format) words='pieces ids' ;;
    tokenize:--alphabet) words='bases diplotypes' ;;
    diplotype:--names) words='sample region both' ;;
    diplotype:--absent) words='reference unknown' ;;
    model:--precision) words='fp32 tf32 bf16' ;;
    model:--input-fmt) words='auto fasta fastq sam bam cram' ;;
    bench:--precision) words='auto fp32 tf32 bf16' ;;
    help:*) words='classify predict embed merge completion variant explain train pretrain eval simulate tokenize diplotype model factorize bench selftest help' ;;
    esac
    fi
    if [ -z "$words" ]; then
    case ${COMP_WORDS[1]}:$cur in
    classify:-*) words='--help -i --input --input-list --input-fmt -T --reference -f --require-flags -F --exclude-flags -e --expr -r --region -R --regions-file -1 --mates-1 -2 --mates-2 --interleaved -m --model --strand --long-sequence --window-length --window-overlap --max-memory --min-length --max-unknown --call --min-prob --max-error --prior --prior-file -o --output --all --jsonl --kraken --use-names --report --krona --shares --cami-binning --cami-profile --sample --bam -O --output-fmt --output-fmt-option -W --write-index --no-PG --split-dir --split-gz --summary --html --resume --resume-every -@ --threads --device --precision -B --batch-tokens --chunks-in-flight --check-finite --shard --manifest -q --quiet -v --verbose --verbosity --force' ;;
    predict:-*) words='--help -i --input --input-list --input-fmt -T --reference -f --require-flags -F --exclude-flags -e --expr -r --region -R --regions-file -m --model --strand --long-sequence --window-length --window-overlap --max-memory --min-length --max-unknown -o --output --format --class --switch-penalty --prior --prior-file -@ --threads --device --precision -B --batch-tokens --chunks-in-flight --check-finite --shard --manifest -q --quiet -v --verbose --verbosity --force' ;;
    embed:-*) words='--help -i --input --input-list --input-fmt -T --reference -f --require-flags -F --exclude-flags -e --expr -r --region -R --regions-file -1 --mates-1 -2 --mates-2 --interleaved -m --model --strand --long-sequence --window-length --window-overlap --max-memory --min-length --max-unknown -o --output --format --names --vector -@ --threads --device --precision -B --batch-tokens --chunks-in-flight --check-finite --shard --manifest -q --quiet -v --verbose --verbosity --force' ;;
    merge:-*) words='--help -o --output --names --tsv --jsonl --kraken --report --krona --cami-binning --cami-profile --summary -q --quiet -v --verbose --verbosity --force' ;;
    completion:-*) words='--help -q --quiet -v --verbose --verbosity --force' ;;
    completion:*) [ "$COMP_CWORD" -ne 2 ] || words='bash zsh fish' ;;
    variant:-*) words='--help -i --input -f --reference -r --region -R --regions-file --strict-contigs --exons -o --output -O --output-type -W --write-index --tsv --html --summary --prefix --fields --no-version --score -w --window-length --ends --circular --strand --max-unknown -m --model -@ --threads --device --precision -B --batch-tokens --chunks-in-flight --check-finite --shard --manifest -q --quiet -v --verbose --verbosity --force' ;;
    explain:-*) words='--help -f --reference -r --region -R --regions-file -o --output --tsv --svg --method --baseline --shuffles --seed --label --value --steps -B --batch-tokens -m --model -@ --threads --device --precision -q --quiet -v --verbose --verbosity --force' ;;
    train:-*) words='--help -i --input --input-list --input-fmt -T --reference -f --require-flags -F --exclude-flags -e --expr -r --region -R --regions-file --labels --label-key --class --label-map --intervals --background --skip-unlabelled --split --split-by --crop-min --crop-max --crop-power --samples-per-epoch --class-balance --group-balance --length-power --rc --no-rc --valid-frac --folds --valid-samples --mutate --mutate-indels --mutate-silent --mutate-share -B --batch-tokens --step-records --accumulate --optimizer --lr --beta1 --beta2 --eps --weight-decay --keep-zero-grad --schedule --warmup --cycles --power --lr-end --clip --ema --epochs --max-steps --budget --patience --seed --preset --print-config --class-weights --stop-at --monitor --tolerance --no-standardize --proteins --init --new-head --freeze --freeze-epochs --encoder-lr --init-composition --composition-lr -o --output --metrics --step-metrics --tensorboard --checkpoint --checkpoint-steps --resume --stop-after --max-time --ranks --ranks-timeout --strand --html --split-out --checkpoint-blocks --recompute --taxonomy --taxa --lineage --window-length --ends --circular --exons -@ --threads --device --precision -q --quiet -v --verbose --verbosity --force --tokenizer --encoder --head --tokenizer.case --tokenizer.k --tokenizer.stride --tokenizer.canonical --tokenizer.k --tokenizer.min-codons --tokenizer.gap --tokenizer.min-codons --tokenizer.file --encoder.max-len --encoder.track --encoder.hidden --encoder.norm --encoder.prenorm --encoder.dropout --encoder.depth --encoder.init --encoder.reversible --encoder.dim --encoder.heads --encoder.layers --encoder.hidden --encoder.norm --encoder.act --encoder.position --encoder.max-len --encoder.dropout --encoder.max-len --encoder.dim --encoder.heads --encoder.head --encoder.layers --encoder.hidden --encoder.k --encoder.norm --encoder.act --encoder.values --encoder.kv-heads --encoder.position --encoder.dropout --encoder.max-len --encoder.input --encoder.dim --encoder.heads --encoder.key --encoder.value --encoder.layers --encoder.hidden --encoder.rank --encoder.form --encoder.factor --encoder.position --encoder.dropout --encoder.dim --encoder.heads --encoder.layers --encoder.hidden --encoder.kernel --encoder.units --encoder.rank --encoder.features --encoder.ortho --encoder.position --encoder.max-len --encoder.dropout --encoder.max-len --encoder.dim --encoder.heads --encoder.head --encoder.layers --encoder.hidden --encoder.rank --encoder.gamma --encoder.penalty --encoder.scores --encoder.position --encoder.dropout --encoder.max-len --encoder.layers --encoder.depth --encoder.channels --encoder.decoder --encoder.input --encoder.groups --encoder.kernel --encoder.dilation --encoder.convs --encoder.hidden --encoder.norm --encoder.dropout --encoder.max-len --encoder.factors --encoder.input --encoder.channels --encoder.hidden --encoder.g-hidden --encoder.residual --encoder.position --encoder.dropout --encoder.max-len --encoder.layers --encoder.factors --encoder.protocol --encoder.channels --encoder.hidden --encoder.residual --encoder.position --encoder.dropout --head.predictor --head.predictor-norm --head.predictor-layers --head.predictor-kernel --head.predictor-channels --head.pool --head.centre --head.norm --head.hidden --head.dropout --head.compare --head.ancestors --head.composition --head.composition-channels --head.composition-hidden --head.composition-dropout --head.composition-skip' ;;
    pretrain:-*) words='--help -i --input --window --window-min --windows-per-epoch --max-unknown --rc --skip-contigs --val-contigs --val-regions --valid-frac --valid-windows --mask-ratio --mask-span --mask-hide --mask-swap --decoder --decoder-layers --init -B --batch-tokens --step-records --accumulate --optimizer --lr --beta1 --beta2 --eps --weight-decay --keep-zero-grad --schedule --warmup --cycles --power --lr-end --clip --ema --epochs --max-steps --budget --patience --seed -o --output --metrics --step-metrics --tensorboard --checkpoint --checkpoint-steps --resume --stop-after --max-time --ranks --ranks-timeout --checkpoint-blocks --recompute -@ --threads --device --precision -q --quiet -v --verbose --verbosity --force --tokenizer --encoder --tokenizer.case --tokenizer.k --tokenizer.stride --tokenizer.canonical --tokenizer.k --tokenizer.min-codons --tokenizer.gap --tokenizer.min-codons --tokenizer.file --encoder.max-len --encoder.track --encoder.hidden --encoder.norm --encoder.prenorm --encoder.dropout --encoder.depth --encoder.init --encoder.reversible --encoder.dim --encoder.heads --encoder.layers --encoder.hidden --encoder.norm --encoder.act --encoder.position --encoder.max-len --encoder.dropout --encoder.max-len --encoder.dim --encoder.heads --encoder.head --encoder.layers --encoder.hidden --encoder.k --encoder.norm --encoder.act --encoder.values --encoder.kv-heads --encoder.position --encoder.dropout --encoder.max-len --encoder.input --encoder.dim --encoder.heads --encoder.key --encoder.value --encoder.layers --encoder.hidden --encoder.rank --encoder.form --encoder.factor --encoder.position --encoder.dropout --encoder.dim --encoder.heads --encoder.layers --encoder.hidden --encoder.kernel --encoder.units --encoder.rank --encoder.features --encoder.ortho --encoder.position --encoder.max-len --encoder.dropout --encoder.max-len --encoder.dim --encoder.heads --encoder.head --encoder.layers --encoder.hidden --encoder.rank --encoder.gamma --encoder.penalty --encoder.scores --encoder.position --encoder.dropout --encoder.max-len --encoder.layers --encoder.depth --encoder.channels --encoder.decoder --encoder.input --encoder.groups --encoder.kernel --encoder.dilation --encoder.convs --encoder.hidden --encoder.norm --encoder.dropout --encoder.max-len --encoder.factors --encoder.input --encoder.channels --encoder.hidden --encoder.g-hidden --encoder.residual --encoder.position --encoder.dropout --encoder.max-len --encoder.layers --encoder.factors --encoder.protocol --encoder.channels --encoder.hidden --encoder.residual --encoder.position --encoder.dropout' ;;
    eval:-*) words='--help -i --input --input-list --input-fmt -T --reference -f --require-flags -F --exclude-flags -e --expr -r --region -R --regions-file --labels --label-key --class --label-map --intervals --background --skip-unlabelled --split --split-by -m --model --strand --long-sequence --window-length --window-overlap --max-memory --min-length --max-unknown --bins --fragments --fragments-per-record --tolerance --threshold --seed -B --batch-tokens --prior --prior-file -o --output --json --html --calibrate --scores -@ --threads --device --precision -q --quiet -v --verbose --verbosity --force' ;;
    simulate:-*) words='--help -n --records --lambda --max-len --length --seed -o --output -i --input -r --region --frequencies --min-freq --ld-scale --causal --heritability --prevalence --case-share --labels --liabilities --effects -q --quiet -v --verbose --verbosity --force' ;;
    simulate:*) [ "$COMP_CWORD" -ne 2 ] || words='adding xor temporal-order cohort' ;;
    tokenize:-*) words='--help -i --input --input-list --input-fmt -T --reference -f --require-flags -F --exclude-flags -e --expr -r --region -R --regions-file -m --model --format -o --output --train --alphabet --vocab-size --max-piece --min-count --sentences --sentence-min --sentence-max --seed -@ --threads -q --quiet -v --verbose --verbosity --force' ;;
    diplotype:-*) words='--help -i --input -f --reference --strict-contigs -r --region -R --regions-file -o --output --names --skip-flags --min-mapq --min-baseq --max-depth --min-depth --min-count --min-frac -s --sample --absent --all-filters --max-memory -@ --threads -q --quiet -v --verbose --verbosity --force' ;;
    model:-*) words='--help --license --demonstration --precision --alphabet --taxonomy --taxa --lineage --rank --energy -o --output -i --input --input-list --input-fmt -T --reference -f --require-flags -F --exclude-flags -e --expr -r --region -R --regions-file --labels --label-key --class --label-map --intervals --background --skip-unlabelled --split --split-by --peptide-alphabet --peptide-k --sample --min-groups --purity --size --weights --refit --top-taxa --crops --seed --mutate --mutate-indels --mutate-silent --mutate-share --protein-length --protein-piece --max-known --scores --bins --max-error -@ --threads -q --quiet -v --verbose --verbosity --force' ;;
    model:*) [ "$COMP_CWORD" -ne 2 ] || words='show verify factorize export import label checked compact lookup proteins calibrate' ;;
    factorize:-*) words='--help -i --input -o --output --dense --plot --factors --steps --lr --seed -@ --threads -q --quiet -v --verbose --verbosity --force' ;;
    bench:-*) words='--help --encoder --min-len --max-len --width --repeats --max-seconds --max-memory --seed -o --output --checkpoint-blocks --recompute -@ --threads --device --precision -q --quiet -v --verbose --verbosity --force' ;;
    bench:*) [ "$COMP_CWORD" -ne 2 ] || words='encoders' ;;
    selftest:-*) words='--help --vectors -m --model -@ --threads -q --quiet -v --verbose --verbosity --force' ;;
    esac
    fi
    COMPREPLY=($(compgen -W "$words" -- "$cur"))
}
complete -o default -F _chordseq chordseq
