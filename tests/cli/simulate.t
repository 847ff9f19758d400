# simulate.t - `chordseq simulate`: correct tasks that models can be trained on.
. "$srcdir/tests/cli/lib.sh"

T 'a thousand records' chordseq simulate adding -n 1000 --lambda 200 --max-len 2000 --seed 1 -o a.tsv
T 'header and records' sh -c '[ "$(wc -l < a.tsv)" = 1001 ] &&
    [ "$(head -n 1 a.tsv)" = "$(printf "#chordseq-series\t1\tchannels=2\ttargets=1")" ]'

# Two marks, a in [-1, 1], target 0.5 + (a1 + a2) / 4, lengths in 32 .. 2000 around 2 lambda.
T 'every target is correct' awk -F '\t' 'NR > 1 { n = split($3, p, ","); ones = 0; sum = 0
    if (n < 32 || n > 2000) exit 1
    for (i = 1; i <= n; i++) { split(p[i], v, ":"); if (v[1] < -1 || v[1] > 1) exit 1
        if (v[2] == 1) { ones++; sum += v[1]; place += (i - 0.5) / n } else if (v[2] != 0) exit 1 }
    d = $2 - 0.5 - sum / 4; if (ones != 2 || d > 1e-7 || d < -1e-7) exit 1
    total += n }
    END { m = total / (NR - 1); q = place / (NR - 1) / 2
        if (m < 330 || m > 480 || q < 0.47 || q > 0.53) exit 1 }' a.tsv
T 'equal seeds give equal bytes' sh -c 'chordseq simulate adding -n 1000 --lambda 200 --max-len 2000 --seed 1 |
    cmp - a.tsv'
T 'another seed gives other bytes' sh -c '! chordseq simulate adding -n 1000 --max-len 2000 --seed 2 | cmp -s - a.tsv'
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
N simulate-model.err    chordseq classify -m "$tiny/model.safetensors" s.tsv
gzip -c s.tsv > s.tsv.gz
T 'training reads it' $train -i s.tsv --epochs 2 -o m
T 'compressed, too' $train -i s.tsv.gz --epochs 2 -o z
T 'compressed input gives the same model' sh -c '[ "$(chordseq model show m | grep ^sha256)" = "$(chordseq model show z | grep ^sha256)" ]'
T 'evaluation reads it' sh -c 'chordseq eval -q -m m s.tsv > e.tsv && grep -q "^record.all...within_tolerance" e.tsv'

T 'a value that a float cannot hold is refused' sh -c 'for i in 1 2 3 4 5 6; do printf ">r$i y=$i\nACGTTGCATTGCAACGT\n"; done | sed "s/y=3/y=1e39/" > big.fa
    ! '"$train"' --label-key y -i big.fa -o x 2> msgs && grep -q "record .r3. has the value .1e39.; at most 3.4.*e+38 is supported" msgs'
T 'a value of a table that is not a number names its line' sh -c 'printf ">r1\nACGT\n>r2\nACGT\n" > odd.fa
    printf "# values\nr1\t1\nr2\t1x\n" > odd.tsv && ! '"$train"' --labels odd.tsv -i odd.fa -o x 2> msgs &&
    grep -q "record .r2. has the value .1x., which is not a number such as 0.5, or NA if it is unknown (.odd.tsv. line 3)$" msgs'
T 'records without a known value are refused or left out' sh -c 'for i in 1 2 3 4 5 6 7 8; do printf ">r$i\nACGTTGCATTGCAACGT\n" >&3; printf "r$i\t0\t$i\n"; done 3> na.fa > all.tsv
    for v in NA NaN . ""; do sed "3s/\t0\t3/\t$v\tNA/" all.tsv > na.tsv && ! '"$train"' --labels na.tsv -i na.fa -o x 2> msgs || exit
        grep -q "record .r3. has the value .$v., which is unknown; --skip-unlabelled omits such records (.na.tsv. line 3)$" msgs || exit
        '"$train"' --labels na.tsv --skip-unlabelled --epochs 1 -i na.fa -o na.m 2> msgs && grep -q "warning: 1 of 8 records has no label and was left out" msgs || exit; done'
T 'unknown values are masked: they do not matter' sh -c 'awk -v OFS="\t" "NR % 2 { \$2 = \"NA\" } { \$3 = \$3 / 8 } 1" all.tsv > half.tsv
    '"$train"' --labels half.tsv --epochs 3 --metrics half.m.tsv -i na.fa -o half.m 2> msgs && ! grep -e "to predict" -e unlabelled msgs &&
    chordseq eval -q -m half.m --labels half.tsv na.fa > half.e &&
    [ "$(awk -F "\t" "\$2 == \"all\" && \$4 == \"records\" { print \$5 }" half.e | tr "\n" " ")" = "8 4 8 " ] &&
    ! grep -i nan half.m.tsv && awk -v OFS="\t" "{ \$2 = \"NA\" } 1" half.tsv > none.tsv &&
    '"$train"' --labels none.tsv --epochs 1 -i na.fa -o none.m 2> msgs && grep -q "warning: 1 of 2 values to predict has no value in a training record; first: .value1.$" msgs'
T 'the first line of a table names the values' sh -c '{ printf "id\tup\tdown\n"; awk "{ print \$1 \"\t\" \$3 \"\t\" (2 - \$3) }" all.tsv; } > named.tsv &&
    '"$train"' --labels named.tsv --epochs 1 -i na.fa -o named.m 2> msgs && ! grep "not in the input" msgs &&
    [ "$(chordseq model show named.m | grep "^label" | tr "\t\n" " ,")" = "label 0 up,label 1 down," ] && chordseq classify -q -m named.m na.fa | grep -qx "name	length	up	down	reason"'
T 'eval finds several values by these names' sh -c 'awk -v OFS="\t" "{ print \$1, \$3, \$2 }" named.tsv > turned.tsv && tail -n +2 named.tsv > plain.tsv &&
    for t in turned named plain; do chordseq eval -q -m named.m --labels $t.tsv na.fa > $t.e || exit; done && cmp turned.e named.e && cmp plain.e named.e &&
    '"$train"' --labels plain.tsv --epochs 1 -i na.fa -o plain.m && [ "$(chordseq model show plain.m | grep -c "^label.*value[12]$")" = 2 ] &&
    chordseq eval -q -m plain.m --labels named.tsv na.fa > /dev/null &&
    sed 1s/up/rise/ named.tsv > rise.tsv && ! chordseq eval -q -m named.m --labels rise.tsv na.fa 2> msgs &&
    grep -q "error: eval: .rise.tsv. line 1: no column is named .up., as the model.s value 1; rename the column$" msgs'
T 'names of values that cannot be are refused' sh -c 'for s in "s/down/up/:columns 2 and 3 are both named .up.$" "s/up/length/:a value cannot be named .length., as another column" \
    "s/id/r1/;2d:record .r1. is in the first line of .bad.tsv., whose .up. is not a number$"; do
    sed "1${s%%:*}" named.tsv > bad.tsv; ! '"$train"' --labels bad.tsv -i na.fa -o x 2> msgs && grep -q "${s#*:}" msgs || exit; done'
T 'the only value has the metrics of all' sh -c 'for m in records mse mae r2 pearson spearman within_tolerance; do
    [ "$(awk -F "\t" -v m=$m "\$2 == \"all\" && \$3 != \".\" && \$4 == m { print \$3, \$5 }" e.tsv)" = "value $(awk -F "\t" -v m=$m \
        "\$2 == \"all\" && \$3 == \".\" && \$4 == m { print \$5 }" e.tsv)" ] || exit; done'
# Of two values the first is met, the second never.
T 'accuracies of training and validation are shares of values' sh -c 'for i in 1 2 3 4 5 6 7 8; do printf ">r$i\nACGTTGCATTGCAACGT\n" >> two.fa; printf "r$i\t0\t1000\n" >> two.tsv; done
    '"$train"' --labels two.tsv -i two.fa --no-standardize --tolerance 100 --epochs 1 --valid-frac 0.5 -o two --metrics two.rows &&
    [ "$(tail -n 1 two.rows | cut -f 5,7)" = "0.5000	0.5000" ]'
classes="chordseq train -q --encoder.max-len 64 --encoder.track 2 --encoder.hidden 8 --epochs 1"
T 'targets are classes for class heads' $classes -i o.tsv -o c
T 'numbers name the classes, in order' sh -c '[ "$(chordseq model show c | awk "\$1 == \"label\" &&
    \$2 == \$3" | wc -l)" = 4 ]'
T 'eval reads targets as classes' sh -c 'chordseq eval -q -m c o.tsv > e.tsv &&
    [ "$(awk "\$4 == \"recall\" && \$2 == \"all\"" e.tsv | wc -l)" = 4 ]'
T 'own classes by another name' sh -c 'printf "#chordseq-series\t1\tchannels=1\ttargets=1\n" > own.tsv
    for i in 1 2 3 4 5 6 7 8; do printf "a$i\t2\t0,1,1,0,0,1,1,0,1,1,0,1\nb$i\t0\t1,0,0,1,1,0,0,0,1,0,0,1\n"; done >> own.tsv; printf "0\tzero\n1\t-\n" > own.map
    chordseq train -q --encoder.max-len 256 --encoder.track 2 --encoder.hidden 8 --epochs 1 --label-map own.map -i own.tsv -o own.m &&
    [ "$(chordseq model show own.m | grep ^label | cut -f 2 | tr "\n" " ")" = "zero 2 " ] &&
    chordseq eval -q -m own.m --label-map own.map -i own.tsv | grep -q "^record	all	zero	records	8$"'
N series-class.err      $classes -i s.tsv -o x

refused() {
    N "$1" $train -i "$2" -o x
}
h='#chordseq-series\t1\tchannels=2\ttargets=1\n'
printf '#chordseq-series\t2\tchannels=2\ttargets=1\n' > v.tsv;   refused series-version.err v.tsv
printf '#chordseq-series\t1\tchannels=0\ttargets=1\n' > c.tsv;   refused series-channels.err c.tsv
printf "${h}a\t1\t0:0,1:1\nb\t1\t0:0,1\n" > p.tsv;               refused series-position.err p.tsv
printf "${h}a\t1\t0:0,nan:1\n" > n.tsv;                          refused series-nan.err n.tsv
printf "${h}a\t1\t0:0,0x1:1\n" > n.tsv;                          refused series-nan.err n.tsv
printf "${h}a\t1\n" > t.tsv;                                     refused series-columns.err t.tsv
printf "${h}a\t1,2\t0:0\n" > w.tsv;                              refused series-targets.err w.tsv
printf "${h}a\t1\t0:0\000\n" > u.tsv;                            refused series-nul.err u.tsv
head -c 300 s.tsv.gz > cut.tsv.gz;                               refused series-cut.err cut.tsv.gz
N series-crop.err $train --crop-max 100 --crop-min 50 -i s.tsv -o x
T 'a network for sequences refuses values' sh -c '! chordseq classify -q -m "$1" s.tsv > out 2>&1 ||
    [ "$(grep -c no_known_base out)" = 200 ]' - "$tiny/model.safetensors"

# ---- cohort --------------------------------------------------------------------------------------

# Twenty sites 50 bases apart with several frequencies, and unusable records: overlapping, symbolic
# ALT, filtered, rare, in another region.
{
    printf '##fileformat=VCFv4.2\n##contig=<ID=c>\n##FILTER=<ID=bad,Description="x">\n'
    printf '#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n'
    awk 'BEGIN { OFS = "\t"; for (i = 1; i <= 20; i++) { p = 100 + 50 * i; f = 0.1 * (1 + i % 5)
        print "c", p, "s" i, "AC", i == 7 ? "A,AG" : "A", ".", "PASS", i == 7 ? "AF=0.2,0.1" : "AF=" f
        if (i == 3) print "c", p + 1, ".", "C", "T", ".", "PASS", "AF=0.5"
        if (i == 4) print "c", p + 9, ".", "C", "<DEL>", ".", "PASS", "AF=0.5"
        if (i == 5) print "c", p + 9, ".", "C", "T", ".", "bad", "AF=0.5"
        if (i == 6) print "c", p + 9, ".", "C", "T", ".", ".", "AC=3;AN=1000" }
        print "c", 5000, ".", "C", "T", ".", ".", "AF=0.5" }'
} > sites.vcf
co="chordseq simulate cohort -i sites.vcf -r c:1-2000"
T 'a cohort' sh -c "$co -n 2000 --causal 6 --heritability 0.4 --labels c.lab --liabilities c.lia --effects c.eff -o c.vcf 2> err"
T 'labels are not lost to a closed pipe without a message' sh -c '{ until [ -e no_reader ]; do sleep 0.1; done; "$@" -n 200 --causal 6 --labels gone 2> msgs; echo $? > status; } | { exec < /dev/null; : > no_reader; }
    [ "$(cat status)" = 1 ] && [ ! -e gone ] && grep -q "closed it; the other outputs are not written" msgs' - $co
T 'ALTs count together for --min-freq' sh -c 'sed "s/AF=0.2,0.1/AF=0.006,0.006/" sites.vcf > low.vcf &&
    for min in 0.012 0.013; do chordseq simulate cohort -i low.vcf -r c:1-2000 -n 9 --min-freq $min -o low 2> msgs; grep -o "[0-9]* rare" msgs; done | tr "\n" , | grep -qx "1 rare,2 rare,"'
T 'omitted records are reported' grep -qx 'chordseq: sites left out: 1 filtered, 1 symbolic, 1 overlap, 1 rare' err
# Unsorted records would be neither separate sites nor overlaps.
printf 'd\t7\t.\tC\tT\t.\t.\tAF=0.5\nc\t9000\t.\tC\tT\t.\t.\tAF=0.5\n' | cat sites.vcf - > apart.vcf
printf 'c\t4000\t.\tC\tT\t.\t.\tAF=0.5\n' | cat sites.vcf - > behind.vcf
N cohort-contig.err chordseq simulate cohort -i apart.vcf -o x
N cohort-behind.err chordseq simulate cohort -i behind.vcf -o x
T 'outputs are created before sites are read' sh -c '! chordseq simulate cohort -i behind.vcf -o x --labels no-folder/l 2> err &&
    grep -q "cannot create .no-folder/l" err && [ ! -e x ]'
N simulate-goes.err  chordseq simulate adding --length 9 -o x
N simulate-goes2.err chordseq simulate xor --causal 3 -o x
N simulate-goes3.err chordseq simulate cohort -i sites.vcf --lambda 3 -o x
T 'frequencies are those of the sites' awk -F '\t' '/^#/ { next } { n = split(substr($8, 4), f, ",")
    if (NF != 2009 || $9 != "GT") exit 1
    for (k in c) delete c[k]
    for (i = 10; i <= NF; i++) { if ($i !~ /^[0-2][|][0-2]$/) exit 1
        c[substr($i, 1, 1)]++; c[substr($i, 3, 1)]++; het += substr($i, 1, 1) != substr($i, 3, 1) }
    left = 1
    for (k = 1; k <= n; k++) { d = c[k] / 4000 - f[k]; if (d * d > 0.0009) exit 1
        left -= f[k]; same += f[k] * f[k] }
    want += 2000 * (1 - left * left - same); same = 0; sites++ }
    END { d = het / want - 1; if (sites != 20 || d * d > 0.0009) exit 1 }' c.vcf
T 'the liability is as heritable as stated' awk -F '\t' 'NR > 1 { n++; l += $2; ll += $2 * $2; g += $3; gg += $3 * $3 }
    END { vg = gg / n - g * g / n / n; vl = ll / n - l * l / n / n
          exit !(n == 2000 && vg > 0.35 && vg < 0.45 && vl > 0.9 && vl < 1.1) }' c.lia
T 'cases have the larger liabilities' sh -c 'grep -v "^#" c.lia | paste - c.lab | awk "BEGIN { low = 99; high = -99 }
    \$5 == \"case\" { n++; if (\$2 < low) low = \$2 } \$5 == \"control\" && \$2 > high { high = \$2 }
    END { exit !(low > high && n > 900 && n < 1100) }"'
T 'the genetic part is the sum of effects' sh -c 'awk -F "\t" "FILENAME == \"c.eff\" { e[\$2] = \$7; next }
    FILENAME == \"c.vcf\" && !/^#/ && \$2 in e { for (i = 10; i <= NF; i++)
        sum[i] += e[\$2] * (substr(\$i, 1, 1) + substr(\$i, 3, 1)) }
    FILENAME == \"c.lia\" && FNR > 1 { d = \$3 - sum[FNR + 8]; if (FNR == 2) first = d
        d -= first; if (d * d > 1e-8) exit 1; n++ }
    END { exit n != 2000 }" c.eff c.vcf c.lia'
T 'a second run writes the same file' sh -c "$co -q -n 2000 --causal 6 --heritability 0.4 | cmp - c.vcf"
T 'linked sites on request' sh -c "$co -q -n 2000 --ld-scale 200 | awk -F '\t' '!/^#/ && \$2 >= 700 && \$2 <= 1050 {
    for (i = 10; i <= NF; i++) { a = substr(\$i, 1, 1) > 0; both += a && was[i]; alone += a; before += was[i] + 0; was[i] = a; n++ } }
    END { exit !(both / n > 1.3 * (alone / n) * (before / n)) }'"
T 'the requested number of cases' sh -c "$co -q -n 300 --prevalence 0.05 --case-share 0.4 --labels l -o o && [ \$(grep -c case l) = 120 ]"
T 'random frequencies on request' sh -c "$co -q -n 10 --frequencies draw -o o && [ \$(grep -c '^c' o) -ge 20 ]"
T 'frequencies of genotypes' sh -c "sed '/^#/!s/AF=[0-9.,]*/./' c.vcf > g.vcf && chordseq simulate cohort -q -i g.vcf -n 10 -o g &&
    awk -F '\t' '!/^#/ && !/,/ { split(\$8, f, \"=\"); print f[2] }' g | sed -n 1p | grep -q '^0[.][12]'"
T 'VCF is valid for other programs' sh -c 'command -v bcftools > /dev/null || exit 0; bcftools view c.vcf > o'
N cohort-input.err       chordseq simulate cohort
N cohort-apart.err       $co -n 9 -o x --labels ./x
N cohort-causal.err      $co --causal 20 -o x
N cohort-none.err        $co --causal 0 -o x
N cohort-where.err       chordseq simulate cohort -i sites.vcf -r chrc:1-50 -o x
N cohort-region.err      chordseq simulate cohort -i sites.vcf -r c:1-50 -o x
N cohort-freq.err        sh -c "sed 's/AF=[0-9.,]*/./' sites.vcf > f.vcf && chordseq simulate cohort -i f.vcf -o x"
N cohort-more.err        sh -c "sed 's/AF=0.2,0.1/AF=0.9,0.3/' sites.vcf > f.vcf && chordseq simulate cohort -i f.vcf -o x"
T 'a failed run leaves no file' [ ! -e x ]
T 'frequencies and counts are decimal numbers' sh -c 'while read -r was is key; do sed "s/$was/$is/" sites.vcf > x.vcf
    ! cmp -s x.vcf sites.vcf && ! chordseq simulate cohort -q -i x.vcf -r c:1-2000 -n 9 -o x 2> msgs && grep -q "x.vcf.: record [0-9]* (c:[0-9]*) has .*${is##*=}. in $key, which is not a decimal number$" msgs || exit
    done <<END
AF=0.2 AF=0x1p-2 AF
AF=0.2 AF=quarter AF
AC=3 AC=0x3 AC
AN=1000 AN=0x3E8 AN
END
    for f in . nan NaN; do sed "s/AC=3/AF=$f;AC=3/" sites.vcf > y.vcf; chordseq simulate cohort -q -i y.vcf -r c:1-2000 -n 9 | grep -v "^##" > y && '"$co"' -q -n 9 | grep -v "^##" | cmp y - || exit; done'
