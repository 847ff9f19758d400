# bench.t - `chordseq bench`: format of the table, missing values, reproducible memory.
. "$srcdir/tests/cli/lib.sh"

tiny_bench="chordseq bench -q --min-len 16 --max-len 64 --width 16 --repeats 1 encoders"
T 'all encoders' $tiny_bench -o a.tsv
encoders=$(ls "$srcdir"/src/nn/encoders/enc_*.c | wc -l)
P bench-head.tsv head -n 1 a.tsv
T 'three lengths and an exponent for each' awk -F '\t' -v n="$encoders" '
    NR == 1 { next }
    NF != 8 || $2 < 12 || $2 > 22 || $3 < 100 { exit 1 }
    $4 != ((NR - 2) % 4 == 3 ? "exponent" : 16 * 2 ^ ((NR - 2) % 4)) { exit 1 }
    $4 != "exponent" && !($5 > 0 && $6 > 0 && $7 > 0 && $8 > $6) { exit 1 }
    $4 == "exponent" && !($6 > 0.2 && $6 < 2.1 && $8 > 0.2 && $8 < 2.1) { exit 1 }
    { seen[$1]++ }
    END { for (e in seen) k++; if (k != n || NR != 4 * n + 1) exit 1 }' a.tsv
T 'memory depends on options and length only' sh -c "$tiny_bench"' -@ 2 | cut -f 1-4,6,8 > b &&
    cut -f 1-4,6,8 a.tsv | cmp - b'

# Memory proportional to the length has exponent 1.
T 'the exponent is a slope' sh -c 'chordseq bench -q --encoder psf:factors=3 --min-len 1024 --max-len 8192 \
    --repeats 1 --width 8 encoders | awk -F "\t" "\$4 == \"exponent\" && \$6 > 0.99 && \$6 < 1.01 &&
    \$8 > 0.99 && \$8 < 1.01 { ok = 1 } END { exit !ok }"'

one="chordseq bench -q --min-len 16 --max-len 64 --repeats 1 --width 16"
cells() { "$@" encoders | awk -F '\t' '
    { print $4, ($5 + 0 > 0 ? "time" : $5), ($7 + 0 > 0 ? "time" : $7) }'; }
P bench-long.txt  cells $one --encoder linformer:max-len=32:k=4
P bench-slow.txt  cells $one --encoder transformer --max-seconds 1e-9
P bench-large.txt cells $one --encoder transformer --max-memory 40Ki
P bench-sized.tsv sh -c "$one --encoder chordmixer:max-len=64 --encoder chordmixer:max-len=64:track=1 \
    --encoder cdil:channels=8,12:layers=2:depth=all encoders | cut -f 1-4,6,8"

N bench-what.err     chordseq bench
N bench-encoder.err  $one --encoder sorter encoders
N bench-option.err   $one --encoder psf:factor=3 encoders
N bench-form.err     $one --encoder psf:factors encoders
T 'the nearest width that an encoder takes' sh -c '[ "$($1 --max-memory 1 --width 66 --encoder transformer --encoder lowrank:heads=5 --encoder cdil encoders |
    awk "NR > 1 { print \$2 }" | uniq | tr "\n" " ")" = "68 65 66 " ] && ! $1 --encoder transformer:layers=1:heads=9999 encoders 2> msgs' - "chordseq bench -q --min-len 16 --max-len 64"
N bench-width.err    $one --encoder transformer:dim=10 encoders
N bench-lengths.err  chordseq bench --min-len 64 --max-len 32 encoders
