# families.awk - genomes of two or three classes and eight families each, for tests; and split.tsv.
#
# Usage   awk -v replaced=SHARE [-v classes=3] -f families.awk
#
# Every class has a protein of its own between stops, written with other synonymous codons in every
# family, and with that share of its amino acids replaced, behind random bases: composition has little
# information.
BEGIN {
    srand(1)
    split("two one three", class, " ")
    if (!classes)
        classes = 2
    n_acid = split("GCT,GCC,GCA,GCG CGT,CGC,AGA,AGG AAT,AAC GAT,GAC GAA,GAG TTT,TTC ATT,ATC,ATA AAA,AAG " \
                   "TTA,TTG,CTT,CTC TCA,TCT,AGT,AGC ACT,ACC,ACA GTT,GTC,GTA,GTG TAT,TAC GGT,GGC,GGA", acid, " ")
    for (c = 0; c < classes; c++)
        for (i = 0; i < 200; i++)
            gene[c, i] = below(n_acid) + 1
    for (f = 0; f < 8; f++)
        for (c = 0; c < classes; c++) {
            s = ""
            for (i = 0; i < 200; i++)
                s = s substr("ACGT", below(4) + 1, 1)
            s = s "TAA"
            for (i = 0; i < 200; i++)
                s = s codon(rand() < replaced ? below(n_acid) + 1 : gene[c, i])
            name = "g" c f
            print ">" name " class=" class[c + 1] "\n" s "TAA"
            print name "\t" (f < 5 ? "train" : f < 7 ? "valid" : "skip") "\tfamily" f c > "split.tsv"
        }
}
function below(n) { return int(rand() * n) }
function codon(a,    synonym, n) { n = split(acid[a], synonym, ","); return synonym[below(n) + 1] }
