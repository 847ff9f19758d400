# snakemake.t - wrappers and workflow under Snakemake: a local run, killed and resumed, and a run on SLURM.
. "$srcdir/tests/cli/lib.sh"
. "$srcdir/tests/long/tools.sh"
. "$srcdir/tests/long/slurm.sh"
python_tools snakemake multiqc || skip_all "$missing"

w=$srcdir/workflows/snakemake
model=$srcdir/refdata/model/default.safetensors
XDG_CACHE_HOME=$tmp/cache       # Snakemake keeps copies of wrappers there
export w model XDG_CACHE_HOME

# snake FOLDER OPTION...: the workflow in a folder that has its configuration
snake()
{
    (folder=$1; shift; cd "$folder" && exec snakemake -s "$w/workflow/Snakefile" "$@") > snake.log 2>&1 ||
        { tail -n 40 snake.log; return 1; }
}

# ---- wrappers, with the Snakefile of their test, as snakemake-wrappers runs them ----------------------------

mkdir -p prefix/master run && cp -R "$w/bio" prefix/master/ && chmod -R u+w prefix

# wrapper COMMAND FILE...: make the files by its test, from the inputs in ./run
wrapper()
{
    snakefile=$w/bio/chordseq/$1/test/Snakefile; shift
    (cd run && exec snakemake -s "$snakefile" --cores 2 --wrapper-prefix "file://$tmp/prefix/" "$@") > snake.log 2>&1 ||
        { tail -n 40 snake.log; return 1; }
}

cp "$tiny/reads.fq" "$tiny/variants.fa" "$tiny/variants.vcf" run/ && cp "$tiny/model.safetensors" run/
awk 'BEGIN { srand(1); for (i = 0; i < 80; i++) { f = i % 2 ? "run/b.fa" : "run/a.fa"; s = ""
    for (k = 0; k < 300; k++) s = s substr(i % 2 ? "AAAT" : "CCGA", 1 + int(4 * rand()), 1)
    print ">r" i "\n" s > f } }'
T 'wrapper: classify' wrapper classify out/reads.tsv out/reads.1of2.tsv out/reads.2of2.tsv
T 'the output of the wrapper equals that of the program' sh -c 'cd run && chordseq classify -q -m model.safetensors --min-prob 0.3 \
    --report want.kreport -o want.tsv reads.fq && cmp want.tsv out/reads.tsv && cmp want.kreport out/reads.kreport &&
    [ -s out/reads.chordseq_summary.json ] && [ -s out/reads.krona ] && grep -q classified logs/classify.log'
for i in 1 2; do
    (cd run && chordseq classify -q -m model.safetensors --shard $i/2 --manifest part$i.json -o part$i.tsv reads.fq) || exit 1
done
T 'wrapper: merge' wrapper merge out/all.tsv
T 'merged output equals that of one run' sh -c 'cd run && chordseq classify -q -m model.safetensors reads.fq | cmp - out/all.tsv &&
    chordseq classify -q -m model.safetensors --report - -o x reads.fq | cmp - out/all.kreport'
T 'wrapper: embed' wrapper embed out/reads.npy
T 'the vectors of the wrapper equal those of the program' sh -c 'cd run && chordseq embed -q -m model.safetensors -o want.npy reads.fq &&
    cmp want.npy out/reads.npy && cmp want.npy.names.tsv out/reads.names.tsv && grep -q embedded logs/embed.log'
T 'wrapper: predict' wrapper predict out/reads.bed
T 'the regions of the wrapper equal those of the program' sh -c 'cd run && chordseq predict -q -m model.safetensors --window-length 64 reads.fq |
    cmp - out/reads.bed && grep -q segmented logs/predict.log'
T 'wrapper: variant' wrapper variant out/scored.vcf.gz
T 'scores every allele' sh -c 'cd run && [ -s out/scored.vcf.gz.tbi ] &&
    chordseq variant -q -m model.safetensors --reference variants.fa --score embedding --window-length 64 \
        --tsv want.tsv -o /dev/null variants.vcf && cmp want.tsv out/scored.tsv'
T 'wrapper: train' wrapper train out/model.safetensors
T 'the model has the classes' sh -c 'cd run && chordseq model show out/model.safetensors > shown &&
    grep -q "label.*a" shown && [ "$(wc -l < out/metrics.tsv)" -ge 3 ]'
T 'a wrong output is reported before any job runs' sh -c '
    sed "s/tsv=\"out\/reads.tsv\"/table=\"out\/t\"/" "$w/bio/chordseq/classify/test/Snakefile" > Snakefile.bad
    cd run && ! snakemake -s ../Snakefile.bad --cores 1 --wrapper-prefix "file://$tmp/prefix/" out/t > ../msgs 2>&1 &&
    grep -q "outputs must be named, by one of tsv" ../msgs'

# ---- eight samples ------------------------------------------------------------------------------------------

names='s1 s2 s3 s4 s5 s6 s7 s8'
printf 'sample\tsequences\tmates\n' > samples.tsv
for i in 1 2 3 4 5 6 7; do
    "$builddir/tests/bench/gen_fasta" 300000 $i 100 9000 > s$i.fa || exit 1
done
gzip s2.fa
"$builddir/tests/bench/gen_fasta" 200000 8 100 100 > r1.fa && "$builddir/tests/bench/gen_fasta" 200000 9 100 100 > r2.fa || exit 1
# A pair, two files as one sample, and one that takes long enough to be killed.
"$builddir/tests/bench/gen_fasta" 30000000 5 100 9000 > s5.fa || exit 1
for i in $names; do
    case $i in
    s2) f=$tmp/s2.fa.gz ;;
    s3) f=$tmp/s3.fa,$tmp/s1.fa ;;
    s8) f="$tmp/r1.fa	$tmp/r2.fa" ;;
    *)  f=$tmp/$i.fa ;;
    esac
    printf '%s\t%s\n' $i "$f" >> samples.tsv
done
cat > config.yaml << END
samples: $tmp/samples.tsv
model: $model
parts: 2
outputs: [tsv, kraken, report, krona]
extra: "--min-prob 0.3"
threads: 1
mem_mb: 1000
END
for i in $names; do
    case $i in
    s2) set -- s2.fa.gz ;; s3) set -- s3.fa s1.fa ;; s8) set -- -1 r1.fa -2 r2.fa ;; *) set -- $i.fa ;;
    esac
    chordseq classify -q -m "$model" --min-prob 0.3 --sample $i -o $i.tsv --kraken $i.kraken --report $i.kreport \
        --krona $i.krona "$@" || exit 1
done

# equals_unsharded FOLDER: do results equal unsharded runs, and does the page show every sample?
equals_unsharded()
{
    for i in $names; do
        r=$1/results/$i/$i
        cmp $i.tsv $r.tsv && cmp $i.kraken $r.kraken.tsv && cmp $i.kreport $r.kreport && cmp $i.krona $r.krona.tsv ||
            return 1
        grep -q "^$i	" "$1/results/multiqc/multiqc_report_data/multiqc_chordseq.txt" || return 1
    done
    # Temporary files of a killed program remain.
    [ -z "$(find "$1/results" -path '*/parts/*' -type f ! -name '*.tmp.*')" ] && [ -s "$1/results/multiqc/multiqc_report.html" ]
}

# jobs_of RULE: number of its jobs in the last run
jobs_of() { sed -n "s/^$1 *\([0-9]*\)\$/\1/p" snake.log | head -n 1; }

# The program, except that one part of s5 stops until it is killed.
mkdir -p slow && cat > slow/chordseq << END
#!/bin/sh
case "\$*" in
*results/s5/parts/2.tsv*)
    "$builddir/chordseq" "\$@" &
    until ls results/s5/parts/2.tsv.tmp.* > /dev/null 2>&1; do kill -0 \$! || exit 1; done
    kill -STOP \$! && echo \$! > "$tmp/stopped.tmp" && mv "$tmp/stopped.tmp" "$tmp/stopped"
    wait \$! ;;
*)  exec "$builddir/chordseq" "\$@" ;;
esac
END
chmod +x slow/chordseq

# until_stopped SECONDS
until_stopped()
{
    n=0
    until [ -e stopped ]; do
        n=$((n + 1)); [ $n -le "$1" ] || return 1
        sleep 1
    done
}

mkdir here
start=$(date +%s)
T 'the configuration is checked' sh -c '
    for wrong in "parts: 0" "outputs: [table]" "thread: 2"; do
        ! (cd here && { grep -v "^${wrong%%:*}:" ../config.yaml; echo "$wrong"; } > wrong.yaml &&
            snakemake -s "$w/workflow/Snakefile" --configfile wrong.yaml -n) > msgs 2>&1 &&
        grep -q "rror validating config" msgs || { echo "$wrong"; exit 1; }
    done'
PATH=$tmp/slow:$PATH setsid snakemake -s "$w/workflow/Snakefile" -d here --configfile config.yaml --cores 2 > first.log 2>&1 &
killed=$!
T 'a local run is killed' sh -c '
    n=0; until [ -e stopped ] && ls here/results/*/s?.tsv > /dev/null 2>&1; do n=$((n + 1)); [ $n -le 300 ] || exit 1; sleep 1; done
    kill -KILL "-$1"' - $killed
wait $killed 2> /dev/null
find here/results -name 's?.tsv' > done.list
T 'no partial file under a final name' sh -c '[ -s done.list ] && while read -r f; do
        i=$(basename "$f" .tsv); cmp "$i.tsv" "$f" || exit; done < done.list
    [ ! -e here/results/s5/parts/2.tsv ] && [ ! -e here/results/s5/s5.tsv ]'
rm -f stopped
T 'the workflow unlocks' sh -c '(cd here && snakemake -s "$w/workflow/Snakefile" --configfile ../config.yaml --unlock) > /dev/null 2>&1'
T 'the run resumes' snake here --configfile ../config.yaml --cores 2 --rerun-incomplete
T 'finished jobs are not repeated' [ "$(jobs_of merge)" -le "$((8 - $(wc -l < done.list)))" ]
T 'results equal unsharded runs' equals_unsharded here
T 'a second run has nothing to do' sh -c 'cd here && snakemake -s "$w/workflow/Snakefile" --configfile ../config.yaml -n \
    > ../msgs 2>&1 && grep -q "Nothing to be done" ../msgs'
# One sample, by the name of a model.
mkdir named
T 'the model may be a name' sh -c '
    snakemake -s "$w/workflow/Snakefile" -d named --configfile config.yaml --config model=fast --cores 2 results/s1/s1.tsv > msgs 2>&1 &&
    chordseq classify -q -m fast --min-prob 0.3 s1.fa | cmp - named/results/s1/s1.tsv'
mkdir cram
with samtools T "CRAM is read with the configuration's reference" sh -c '
    cp "$tiny/strands.fa" ref.fa && chmod u+w ref.fa && samtools view -C -T ref.fa -o cram/s.cram "$tiny/strands.sam" > msgs 2>&1 &&
    mv ref.fa cram/genome.fa && rm -f ref.fa.fai && printf "sample\tsequences\tmates\ns\ts.cram\t\n" > cram/samples.tsv &&
    printf "%s\n" "samples: samples.tsv" "reference: genome.fa" "parts: 2" > cram/config.yaml &&
    REF_PATH=none snakemake -s "$w/workflow/Snakefile" -d cram --configfile cram/config.yaml --cores 2 results/s/s.tsv > msgs 2>&1 &&
    chordseq classify -q "$tiny/strands.sam" | cmp - cram/results/s/s.tsv'
echo "# local: $(($(date +%s) - start)) s"

# ---- the same through SLURM ---------------------------------------------------------------------------------

slurm_start || { S 'SLURM' "$missing"; exit 0; }
trap 'slurm_stop; finish' EXIT
mkdir cluster
start=$(date +%s)
slurm='--profile '$w'/profiles/slurm --retries 0 --keep-going --jobs 8 --latency-wait 20
    --slurm-init-seconds-before-status-checks 5 --seconds-between-status-checks 5 --slurm-status-command squeue'
# shellcheck disable=SC2086 # a list of words
PATH=$tmp/slow:$PATH snakemake -s "$w/workflow/Snakefile" -d cluster --configfile config.yaml $slurm > first.log 2>&1 &
first=$!
T 'SLURM: a job is running' until_stopped 400
T 'SLURM: the job is cancelled' sh -c 'job=$(cat "/proc/$(cat stopped)/environ" | tr "\0" "\n" | sed -n "s/^SLURM_JOB_ID=//p") &&
    [ -n "$job" ] && scancel "$job"'
wait $first; got=$?
T 'SLURM: the run reports it and finishes other jobs' sh -c '[ "$1" = 1 ] && [ ! -e cluster/results/s5/s5.tsv ] &&
    [ "$(ls cluster/results/*/s?.tsv | wc -l)" = 7 ]' - $got
rm -f stopped
T 'SLURM: the run resumes' snake cluster --configfile ../config.yaml $slurm
T 'SLURM: only that job runs again' [ "$(jobs_of classify_part).$(jobs_of merge)" = 1.1 ]
T 'SLURM: results equal unsharded runs' equals_unsharded cluster
T 'SLURM: every job ran as its own SLURM job' sh -c '
    [ "$(scontrol show job | grep -c "JobState=COMPLETED")" -ge 25 ] && scontrol show job | grep -q "JobState=CANCELLED"'
echo "# SLURM: $(($(date +%s) - start)) s"
with chromium T "SLURM: a browser draws the page's plots" sh -c '. "$srcdir/tests/long/tools.sh"
    dump_dom "$tmp/cluster/results/multiqc/multiqc_report.html" dom &&
    [ "$(grep -o "class=\"main-svg\"" dom | wc -l)" -ge 2 ] &&
    for i in s1 s5 s8 "chordseq: Classes" "chordseq: Confidence"; do grep -q ">$i<" dom || { echo "no $i"; exit 1; }; done'
[ -z "${CS_PAGE:-}" ] || chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --virtual-time-budget=20000 \
    --window-size=1400,2600 --screenshot="$CS_PAGE" "file://$tmp/cluster/results/multiqc/multiqc_report.html" > /dev/null 2>&1
