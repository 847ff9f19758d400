# split.awk - which records of the taxa set train the default model and which validate it
#
# Usage   awk -f split.awk manifest.tsv > split.tsv          (columns: record, train|valid, group)
#
# Whole organisms are held out. Within a class, organisms are numbered in the order of the
# manifest's sorted names and every 7th, from the first on, validates. Where the source gives no
# organism, or one name for unrelated genomes (uncultured phages, the Microviridae survey), the
# accession stands for it. The nuclear sets have few organisms each, so theirs are named here, one
# group of each kind that has more than one. The mimivirus, only giant virus of its kind and more than
# half of all bases of eukaryotic viruses, always trains.
BEGIN {
    FS = OFS = "\t"
    n = split("Drosophila_melanogaster Trypanosoma_brucei Arabidopsis_lyrata " \
              "Aspergillus_burnettii Bos_taurus Canis_lupus Taeniopygia_guttata", name, " ")
    for (i = 1; i <= n; i++)
        aside[name[i]] = 1
}
FNR == 1 { next }
{
    id[++n_record] = $1
    class = $2
    organism = $3
    accession = $1
    sub(/:[0-9]+-[0-9]+$/, "", accession)
    loose = organism == "unknown" || organism == "uncultured_phage" || organism == "Microviridae_phage"
    if (loose)
        organism = accession
    of[n_record] = organism
    if (class ~ /^nuclear_/) {
        side[n_record] = (organism in aside) ? "valid" : "train"
        next
    }
    if (organism ~ /mimivirus/) {
        side[n_record] = "train"
        next
    }
    group[n_record] = class OFS organism
    seen[group[n_record]] = 1
}
END {
    sorted = 0
    for (g in seen)
        list[++sorted] = g
    sort_list(list, sorted)
    for (i = 1; i <= sorted; i++) {
        split(list[i], part, OFS)
        k[part[1]]++
        valid[list[i]] = k[part[1]] % 7 == 1
    }
    for (i = 1; i <= n_record; i++)
        print id[i], (i in side) ? side[i] : valid[group[i]] ? "valid" : "train", of[i]
}
# shell sort: awk's own order of keys differs between implementations
function sort_list(a, n,    gap, i, j, t) {
    for (gap = int(n / 2); gap > 0; gap = int(gap / 2))
        for (i = gap + 1; i <= n; i++) {
            t = a[i]
            for (j = i - gap; j >= 1 && a[j] > t; j -= gap)
                a[j + gap] = a[j]
            a[j + gap] = t
        }
}
