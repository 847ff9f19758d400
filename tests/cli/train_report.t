# train_report.t - `chordseq train`: what it says of data and run: strands.
. "$srcdir/tests/cli/lib.sh"

# Purines on one strand; then the same with half of the records reversed.
awk 'BEGIN { srand(2); for (i = 0; i < 240; i++) { s = ""; t = ""; for (j = 0; j < 80; j++) { k = 1 + int(8 * rand())
    s = s substr(i % 2 ? "AAAGGACT" : "GGGAAGCT", k, 1); t = substr(i % 2 ? "TTTCCTGA" : "CCCTTCGA", k, 1) t }
    h = ">r" i " organism=o" int(i / 6) " class=" (i % 2 ? "a" : "g") "\n"
    print h s > "sense.fa"; print h (i % 4 < 2 ? s : t) > "mixed.fa" } }'
fast="chordseq train -@ 1 --label-key class --preset fast --budget 20k"

# ---- strands -------------------------------------------------------------------------------------

for rc in no-rc rc; do $fast --$rc --print-config sense.fa 2> err > $rc.cfg; done
T 'of one strand, words are not canonical' sh -c 'grep -qx tokenizer.canonical=0 no-rc.cfg && grep -qx tokenizer.canonical=1 rc.cfg'
T 'records of one strand: --no-rc is advised' sh -c '"$@" sense.fa -o sense.m 2> told &&
    [ "$(grep -c "one strand: 5-mers tell [0-9.]* % .*; --no-rc may" told)" = 1 ]' - $fast
T 'but not of both, nor where it is given' sh -c '"$@" mixed.fa -o mixed.m 2> told && "$@" --no-rc sense.fa -o sense.m 2>> told &&
    ! grep "one strand" told' - $fast
