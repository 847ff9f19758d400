# ranks.t - training by several processes: the model of one process, and failures of one.
. "$srcdir/tests/cli/lib.sh"

# Kill all processes at exit.
stop()
{
    status=$?
    for f in "$tmp"/*.pid; do
        [ ! -f "$f" ] || kill -KILL "$(cat "$f")"
    done
    (exit $status)
    finish
}
trap 'stop 2> /dev/null' EXIT

awk 'BEGIN { srand(1); for (i = 0; i < 48; i++) { c = i % 2; s = ""
    for (j = 0; j < 90 + i; j++) s = s substr(c ? "AAATTACG" : "GGGCCATC", 1 + int(8 * rand()), 1)
    printf ">r%d organism=o%d class=%s\n%s\n", i, int(i / 6) * 2 + c, c ? "at" : "gc", s } }' > all.fa
awk 'BEGIN { srand(2); print ">g"; for (i = 0; i < 6000; i++) { s = s substr("ACGT", 1 + int(4 * rand()), 1) }
    print s }' > genome.fa
samtools faidx genome.fa 2> /dev/null || :

small='--encoder.max-len 256 --encoder.track 2 --encoder.hidden 8 --encoder.dropout 0.1 --tokenizer.k 2'
command="chordseq train -@ 1 $small -B 512 --accumulate 3 --lr 0.01 --samples-per-epoch 96 --crop-min 40
    --crop-max 80 --rc --seed 4 --ema 0.9"
named="$command -q --epochs 3"
short="$named --label-key class all.fa"
pre="chordseq pretrain -q -@ 1 --encoder cdil --encoder.channels 8 --encoder.layers 2 --tokenizer base
    -B 256 --accumulate 3 --lr 0.01 --window 100 --windows-per-epoch 40 --epochs 2"

# until PATTERN FILE: wait for the pattern
until_says()
{
    for k in $(seq 200); do
        grep -qs "$1" "$2" && return
        sleep 0.1
    done
    return 1
}

# A port per run, unlikely to be used by other tests; a run uses some twenty ports from it on, and
# runs started together have adjacent numbers.
port=$((20000 + $$ * 31 % 12000))
MASTER_ADDR=127.0.0.1 MASTER_PORT=$port
export MASTER_ADDR MASTER_PORT
unset RANK WORLD_SIZE

# rank R N CMD...: one of N ranks, with its process in R.pid and messages in R.err (removed first,
# because messages of an earlier run would be mistaken for its own)
rank()
{
    r=$1 n=$2
    shift 2
    rm -f "$r.err"
    RANK=$r WORLD_SIZE=$n "$@" --ranks env 2> "$r.err" &
    echo $! > "$r.pid"
}

# ranks N CMD...: all of them; the status is the worst one
ranks()
{
    all=$1 worst=0
    MASTER_PORT=$((MASTER_PORT + 1))
    shift
    for k in $(seq 0 $((all - 1))); do rank "$k" "$all" "$@"; done
    for k in $(seq 0 $((all - 1))); do
        wait "$(cat "$k.pid")" || worst=$?
        rm -f "$k.pid"
    done
    return "$worst"
}

# The same table except times: losses within a relative 1e-4, the effect of rounding in some tens of
# steps (gradients of one step: tests/nn/test_parallel.c).
same_table()
{
    awk -F '\t' 'NR == FNR { a[FNR] = $0; next } FNR > 1 { n++; split(a[FNR], x, FS)
        for (i = 4; i <= 9; i++) { d = ($i - x[i]) / ($i + ($i == 0)); if (d > 1e-4 || d < -1e-4) bad = 1 } }
        END { exit bad || !n }' "$1" "$2"
}

# ---- refused ------------------------------------------------------------------------------------

N ranks-none.err  $short -o x.m --ranks env
RANK=0 WORLD_SIZE=4
export RANK WORLD_SIZE
N ranks-idle.err  $short -o x.m --ranks env
N ranks-idle4.err $short -o x.m --ranks 4
N ranks-bad.err   $short -o x.m --ranks two
N ranks-stdin.err chordseq train --ranks 2 --accumulate 2 -o x.m --label-key class
N ranks-pipe.err  sh -c 'cat all.fa | exec "$@"' - chordseq train --ranks 2 --accumulate 2 -o x.m /dev/stdin
mkfifo labels.fifo
N ranks-table.err $named --ranks 2 --labels labels.fifo -o x.m all.fa
N ranks-class.err chordseq train --ranks 2 --accumulate 2 -o x.m --class a=all.fa --class b=labels.fifo
unset RANK WORLD_SIZE
RANK=1 WORLD_SIZE=2 T 'without --ranks, launcher variables are ignored' $short --metrics one.tsv -o one.m

# ---- the same as one ------------------------------------------------------------------------------

T 'two ranks' ranks 2 $short --metrics two.tsv -o two.m
T 'two ranks have the losses of one' same_table one.tsv two.tsv
T 'only rank 0 writes a table' [ "$(wc -l < two.tsv)" -eq 4 ]
two=$(weights_sum two.m)
T 'three ranks' ranks 3 $short --metrics three.tsv -o three.m
T 'three ranks have the losses of one' same_table one.tsv three.tsv
T 'two ranks again' ranks 2 $short -o two.m
T 'a second run of two ranks gives the same weights' [ "$(weights_sum two.m)" = "$two" ]
T 'two ranks, paused amid an epoch' ranks 2 $short --stop-after 3 -o part.m
T 'a second run' ranks 2 $short --stop-after 2 --resume -o part.m
T 'resumed to the end' ranks 2 $short --resume -o part.m
T 'two ranks paused twice give the same weights' [ "$(weights_sum part.m)" = "$two" ]
T 'steps by records, more ranks than batches in some' ranks 3 $short --step-records 9 -o records.m \
    --metrics records.3.tsv
T 'one rank' $short --step-records 9 -o records.m --metrics records.1.tsv
T 'steps by records have the losses of one rank' same_table records.1.tsv records.3.tsv

T 'two ranks started by train' $short --ranks 2 --metrics own.tsv -o own.m
T 'ranks started by train have the losses of one' same_table one.tsv own.tsv
T 'ranks started by train and by a launcher give the same weights' [ "$(weights_sum own.m)" = "$two" ]
T 'paused amid an epoch' $short --ranks 2 --stop-after 4 -o part.m
T 'resumed to the end with more threads' $short --ranks 2 -@ 3 --resume -o part.m
T 'more threads give the same weights' [ "$(weights_sum part.m)" = "$two" ]
for c in at gc; do awk -v c="class=$c" '/^>/ { on = $3 == c } on' all.fa > $c.fa; done
T 'one file per class' $named --ranks 2 -o class.m --class at=at.fa --class gc=gc.fa
T 'standard input is not consumed' sh -c 'echo mine | { "$@" && [ "$(cat)" = mine ]; }' - \
    $short --ranks 3 --stop-after 1 -o part.m

T 'pretraining on one rank' $pre -o pre.m --metrics pre.1.tsv genome.fa
awk 'BEGIN { srand(3); for (i = 0; i < 3000; i++) { s = ""; for (j = 0; j < 200; j++)
    s = s substr("ACGT", 1 + int(4 * rand()), 1); print ">c" i; print s } }' > many.fa
T 'a missing index is built before other ranks read it' sh -c 'for i in 1 2 3 4; do rm -f many.fa.fai
    "$@" --epochs 1 --ranks 3 --windows-per-epoch 3 --valid-windows 1 -o pre.m many.fa || exit 1; done' - $pre
T 'pretraining on three' ranks 3 $pre -o pre.m --metrics pre.3.tsv genome.fa
T 'pretraining on three ranks has the losses of one' same_table pre.1.tsv pre.3.tsv
T 'pretraining on two ranks it starts itself' $pre --accumulate 2 --ranks 2 -o pre.m genome.fa

batch="chordseq train -q -@ 1 --encoder cdil --encoder.norm batch --encoder.channels 8 --encoder.layers 2
    --tokenizer base -B 512 --accumulate 3 --epochs 2 --label-key class all.fa"
T 'batch normalisation on one rank' $batch --metrics batch.1.tsv -o batch.m
T 'batch normalisation on two ranks' $batch --ranks 2 --metrics batch.2.tsv -o batch.m
T 'batch normalisation on two ranks has the losses of one' same_table batch.1.tsv batch.2.tsv
batch_sum=$(weights_sum batch.m)
T 'batch normalisation on two ranks, paused amid an epoch' $batch --ranks 2 --stop-after 3 -o batch.m
T 'resumed to the end' $batch --ranks 2 --resume -o batch.m
T 'batch normalisation on two ranks, resumed, gives the same weights' [ "$(weights_sum batch.m)" = "$batch_sum" ]
anneal="chordseq train -q -@ 1 --encoder cdil --encoder.norm batch --encoder.channels 8 --encoder.layers 2
    --tokenizer base -B 512 --accumulate 4 --lr 0.05 --patience 1 --budget 150k --label-key class all.fa"
T 'annealing on one rank' $anneal --metrics anneal.1.tsv -o anneal.m
T 'annealing on two ranks' $anneal --ranks 2 --metrics anneal.2.tsv -o anneal.m
T 'annealing on two ranks has the losses of one: it restores the statistics of the best model' same_table anneal.1.tsv anneal.2.tsv

# Rank 0 alone validates the bag; all take the network's start from it.
balanced="chordseq train -q -@ 1 --budget 20k --label-key class all.fa"
T 'the default preset on one rank' $balanced --metrics balanced.1.tsv -o balanced.m
T 'the default preset on two ranks' $balanced --ranks 2 --metrics balanced.2.tsv -o balanced.m
T 'the default preset on two ranks has the losses of one' same_table balanced.1.tsv balanced.2.tsv

T 'the settings are printed once' sh -c '"$@" > alone.cfg && "$@" --ranks 2 > two.cfg && cmp alone.cfg two.cfg' - \
    chordseq train -q --print-config --label-key class all.fa

# Ranks measure different times: rank 0's clock decides.
balanced="chordseq train -@ 1 --label-key class all.fa"
T 'a budget of time' sh -c '"$@" --preset balanced --budget 3s --ranks 2 -o timed.m 2> msgs && grep -q "trained [0-9]* steps*" msgs' - $balanced
MASTER_PORT=$((MASTER_PORT + 1))
for r in 0 1; do rank $r 2 $balanced -v --preset fast -o timed.m; done
T 'a proposed budget' until_says 'bag of words, epoch 1:' 0.err
kill -TERM "$(cat 0.pid)" 2> /dev/null
wait "$(cat 0.pid)" "$(cat 1.pid)"
rm -f ./*.pid
T 'without errors' sh -c 'grep -q "using --budget 1m" 0.err && ! grep -q error: 0.err'

# ---- what goes wrong ------------------------------------------------------------------------------

MASTER_PORT=$((MASTER_PORT + 1))
rank 0 2 $short -o x.m
rank 1 2 $short --lr 0.02 -o x.m
T 'rank 1 names the differing option' sh -c '! wait "$1"' - "$(cat 1.pid)"
wait "$(cat 0.pid)" "$(cat 1.pid)"
T 'both ranks name it' grep -q "rank 0 has 'lr=0.01', rank 1 'lr=0.02'; start all ranks with" 0.err 1.err
rm -f ./*.pid
T 'nothing was written' sh -c '! ls x.m* 2> /dev/null'

MASTER_PORT=$((MASTER_PORT + 1))
rank 0 2 $short -o x.m
rank 1 2 env CHORDSEQ_DISABLE=avx2 $short -o x.m
wait "$(cat 0.pid)" "$(cat 1.pid)"
rm -f ./*.pid
here=$(chordseq --version --verbose | sed -n 's/^kernels *//p')
if [ "${here#avx}" != "$here" ]; then
    T 'different processors are reported' grep -q "rank 0 has 'kernels=$here', rank 1 'kernels=portable'" 0.err
else
    S 'different processors are reported' 'no AVX2'
fi

long="$command -v --epochs 100000 --step-records 32 --metrics long.tsv --label-key class all.fa -o long.m"
MASTER_PORT=$((MASTER_PORT + 1))
for r in 0 1 2; do rank $r 3 $long; done
T 'a long run' until_says 'epoch 2:' 0.err
kill -KILL "$(cat 2.pid)"
for r in 2 1 0; do wait "$(cat $r.pid)"; eval "status$r=$?"; done
rm -f ./*.pid
T 'a killed rank ends the others with status 1' [ "$status0 $status1 $status2" = '1 1 137' ]
T 'the others name it' sh -c 'for r in 0 1; do grep -q "train: rank 2 is gone: it was killed, or" $r.err || exit 1; done'
T 'and the checkpoint' grep -q "^chordseq: step [0-9]* is saved in 'long.m.ckpt'; --resume continues" 0.err
T 'no partial file remains' sh -c '! ls | grep tmp'

MASTER_PORT=$((MASTER_PORT + 1))
for r in 0 1; do rank $r 2 $long --resume; done
T 'resumed with two ranks' until_says 'epoch [0-9]*[1-9]:' 0.err
kill -TERM "$(cat 1.pid)"
for r in 1 0; do wait "$(cat $r.pid)"; eval "status$r=$?"; done
rm -f ./*.pid
T 'a signal to one rank ends all' [ "$status0 $status1" = '1 143' ]
T 'the others report the reason' grep -q 'train: rank 1 was ended by a signal' 0.err

# Children of the command: the parent is the fourth field. Other processes may end meanwhile; cat then
# continues with the next file.
children() { cat /proc/[0-9]*/stat 2> /dev/null | awk -v of="$1" '$4 == of { print $1 }'; }
# begin CMD...: its processes are $first and $others, its messages in 0.err
begin()
{
    rm -f 0.err
    "$@" 2> 0.err &
    first=$!
    echo "$first" > 0.pid
    until_says 'epoch [0-9]*[1-9]:' 0.err
    others=$(echo $(children "$first"))
}
# none_left: no process remains after the first has ended
none_left()
{
    rm -f 0.pid
    for p in $others; do
        for k in $(seq 100); do
            kill -0 "$p" 2> /dev/null || break
            sleep 0.05
        done
        [ "$k" -lt 100 ] || return 1
    done
}

begin $long --resume --ranks 3
T 'three ranks are three processes' [ "$(echo $others | wc -w)" = 2 ]
victim=${others%% *}
kill -KILL "${victim:-$first}"
wait "$first"
T 'a killed process ends all with status 1' [ $? = 1 ]
T 'the error appears once' [ "$(grep -c 'is gone: it was killed' 0.err) $(grep -c 'error:' 0.err)" = '1 1' ]
T 'and the checkpoint' grep -q "step [0-9]* is saved in 'long.m.ckpt'; --resume continues" 0.err
T 'no process remains' none_left

begin $long --resume --ranks 3
kill -TERM "$first" $others
wait "$first"
T 'a signal to all is handled by rank 0' [ $? = 143 ]
T 'it writes a checkpoint' grep -q "paused by a signal; 'long.m.ckpt' holds the state" 0.err
T 'without further messages' sh -c '! grep -q error: 0.err'
T 'no process remains' none_left

begin $long --resume --ranks 2
kill -KILL "$first"
wait "$first"
T 'when rank 0 is killed, no process remains' none_left

MASTER_PORT=$((MASTER_PORT + 1))
rank 1 2 $short --ranks-timeout 0.3 -o x.m
wait "$(cat 1.pid)"
T 'a rank without rank 0 reports a timeout' grep -q "rank 1 could not connect to rank 0 at '127.0.0.1', port" 1.err
rm -f ./*.pid
