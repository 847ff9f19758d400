# simulate.t - `chordseq simulate`: the tasks are what they say, and can be learnt from.
. "$srcdir/tests/cli/lib.sh"

T 'a thousand records' chordseq simulate adding -n 1000 --lambda 200 --max-len 2000 --seed 1 -o a.tsv
T 'header and records' sh -c '[ "$(wc -l < a.tsv)" = 1001 ] &&
    [ "$(head -n 1 a.tsv)" = "$(printf "#chordseq-series\t1\tchannels=2\ttargets=1")" ]'

# Two marks, a in [-1, 1], target 0.5 + (a1 + a2) / 4, lengths in 32 .. 2000 around 2 lambda.
T 'every record is right' awk -F '\t' 'NR > 1 { n = split($3, p, ","); ones = 0; sum = 0
    if (n < 32 || n > 2000) exit 1
    for (i = 1; i <= n; i++) { split(p[i], v, ":"); if (v[1] < -1 || v[1] > 1) exit 1
        if (v[2] == 1) { ones++; sum += v[1]; place += (i - 0.5) / n } else if (v[2] != 0) exit 1 }
    d = $2 - 0.5 - sum / 4; if (ones != 2 || d > 1e-7 || d < -1e-7) exit 1
    total += n }
    END { m = total / (NR - 1); q = place / (NR - 1) / 2
        if (m < 330 || m > 480 || q < 0.47 || q > 0.53) exit 1 }' a.tsv
T 'the same seed, the same bytes' sh -c 'chordseq simulate adding -n 1000 --lambda 200 --max-len 2000 --seed 1 |
    cmp - a.tsv'
T 'another seed, other bytes' sh -c '! chordseq simulate adding -n 1000 --max-len 2000 --seed 2 | cmp -s - a.tsv'
T 'a shorter run is the beginning of a longer one' sh -c 'head -n 11 a.tsv > head.tsv &&
    chordseq simulate adding -n 10 --max-len 2000 --seed 1 | cmp - head.tsv'

# ---- xor -----------------------------------------------------------------------------------------

chordseq simulate xor -n 400 --length 40 --seed 3 -o x.tsv
T 'xor: every record is right' awk -F '\t' 'NR > 1 { n = split($3, p, ","); ones = 0; high = 0
    if (n != 40) exit 1
    for (i = 1; i <= n; i++) { split(p[i], v, ":"); if (v[1] < 0 || v[1] > 1) exit 1
        if (v[2] == 1) { ones++; high += v[1] >= 0.5 } else if (v[2] != 0) exit 1 }
    if (ones != 2 || $2 != (high == 1)) exit 1
    total += $2 }
    END { if (NR != 401 || total < 150 || total > 250) exit 1 }' x.tsv

# ---- temporal order ------------------------------------------------------------------------------

chordseq simulate temporal-order -n 400 --length 40 --seed 3 -o o.tsv
T 'temporal order: every record is right' awk -F '\t' 'NR > 1 { n = split($3, p, ","); order = ""
    if (n != 40) exit 1
    for (i = 1; i <= n; i++) { if (split(p[i], v, ":") != 6) exit 1
        sum = 0; for (c = 1; c <= 6; c++) { sum += v[c]; if (v[c] == 1) at = c
                                            else if (v[c] != 0) exit 1 }
        if (sum != 1) exit 1
        if (at > 4) { order = order (at - 5); place += (i - 0.5) / n } else count[at]++ }
    if (length(order) != 2 || $2 != 2 * substr(order, 1, 1) + substr(order, 2, 1)) exit 1
    seen[$2]++ }
    END { q = place / 800; if (NR != 401 || q < 0.45 || q > 0.55) exit 1
        for (k = 0; k < 4; k++) if (seen[k] < 65 || seen[k] > 135) exit 1
        for (c = 1; c <= 4; c++) if (count[c] < 3500 || count[c] > 4100) exit 1 }' o.tsv
T 'temporal order: the same seed, the same bytes' sh -c 'chordseq simulate temporal-order -n 400 \
    --length 40 --seed 3 | cmp - o.tsv'
N simulate-one.err      chordseq simulate xor --length 1

N simulate-task.err     chordseq simulate
N simulate-other.err    chordseq simulate sorting
N simulate-length.err   chordseq simulate adding --lambda 1e6 --max-len 40

# ---- as input ------------------------------------------------------------------------------------

train="chordseq train -q --head regress --encoder.max-len 256 --encoder.track 2 --encoder.hidden 8"
chordseq simulate adding -n 200 --lambda 20 --max-len 200 -o s.tsv
gzip -c s.tsv > s.tsv.gz
T 'training reads it' $train -i s.tsv --epochs 2 -o m
T 'compressed, too' $train -i s.tsv.gz --epochs 2 -o z
T 'with the same result' sh -c '[ "$(chordseq model show m | head -n 1)" = "$(chordseq model show z | head -n 1)" ]'
T 'evaluation reads it' sh -c 'chordseq eval -q -m m s.tsv > e.tsv && grep -q "^record.all...within_tolerance" e.tsv'

classes="chordseq train -q --encoder.max-len 64 --encoder.track 2 --encoder.hidden 8 --epochs 1"
T 'a target is a class where classes are learnt' $classes -i o.tsv -o c
T 'numbers name the classes, in order' sh -c '[ "$(chordseq model show c | awk "\$1 == \"label\" &&
    \$2 == \$3" | wc -l)" = 4 ]'
T 'and where they are judged' sh -c 'chordseq eval -q -m c o.tsv > e.tsv &&
    [ "$(awk "\$4 == \"recall\" && \$2 == \"all\"" e.tsv | wc -l)" = 4 ]'
N series-class.err      $classes -i s.tsv -o x

refused() {
    N "$1" $train -i "$2" -o x
}
h='#chordseq-series\t1\tchannels=2\ttargets=1\n'
printf '#chordseq-series\t2\tchannels=2\ttargets=1\n' > v.tsv;   refused series-version.err v.tsv
printf '#chordseq-series\t1\tchannels=0\ttargets=1\n' > c.tsv;   refused series-channels.err c.tsv
printf "${h}a\t1\t0:0,1:1\nb\t1\t0:0,1\n" > p.tsv;               refused series-position.err p.tsv
printf "${h}a\t1\t0:0,nan:1\n" > n.tsv;                          refused series-nan.err n.tsv
printf "${h}a\t1\n" > t.tsv;                                     refused series-columns.err t.tsv
printf "${h}a\t1,2\t0:0\n" > w.tsv;                              refused series-targets.err w.tsv
printf "${h}a\t1\t0:0\000\n" > u.tsv;                            refused series-nul.err u.tsv
head -c 300 s.tsv.gz > cut.tsv.gz;                               refused series-cut.err cut.tsv.gz
N series-crop.err $train --crop-max 100 --crop-min 50 -i s.tsv -o x
T 'a network for sequences is not for it' sh -c '! chordseq classify -q -m "$1" s.tsv > out 2>&1 ||
    [ "$(grep -c no_known_base out)" = 200 ]' - "$tiny/model.safetensors"
