# make_tiny.awk - the sequences of refdata/tiny, from a seed: awk -f make_tiny.awk -v what=fa|fq
#
# Park and Miller's generator (1988) instead of rand(), so that every awk writes the same bytes.
function below(n) { seed = (seed * 16807) % 2147483647; return seed % n }

function bases(n,    s, i) {
    for (i = 0; i < n; i++) s = s substr("ACGT", below(4) + 1, 1)
    return s
}

function fasta(name, s, width,    i) {
    print ">" name
    for (i = 1; i <= length(s); i += width) print substr(s, i, width)
}

BEGIN {
    seed = 42
    if (what == "fq") {
        for (r = 1; r <= 40; r++) {
            s = bases(60 + below(90)); q = ""
            for (i = 1; i <= length(s); i++) q = q substr("#-5<AFI", below(7) + 1, 1)
            printf "@read%d sample=tiny\n%s\n+\n%s\n", r, s, q
        }
        exit
    }
    fasta("empty", "", 60)
    fasta("short2 two bases, fewer than a token needs", bases(2), 60)
    fasta("short3 one token", bases(3), 60)
    fasta("unknown no base is known", "NNNNNNNNNNNNNNNNNNNN", 60)
    fasta("gap an assembly gap inside", bases(100) "NNNNNNNNNNNNNNNNNNNN" bases(100), 60)
    fasta("lower", tolower(bases(130)), 60)
    s = bases(130); gsub("T", "U", s); fasta("rna U is read as T", s, 60)
    fasta("iupac", bases(20) "RYKMSWBDHVN" bases(20), 60)
    for (r = 1; r <= 12; r++) fasta("len" int(4 * 1.6 ^ r), bases(int(4 * 1.6 ^ r)), 70)
    fasta("longest 512 tokens, the most that model.safetensors takes", bases(1536), 80)
    fasta("too_long 513 tokens", bases(1539), 80)
}
