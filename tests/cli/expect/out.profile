@Version:0.9.1
@SampleID:s1
@Ranks:superkingdom|phylum|class|order|family|genus|species|strain

@@TAXID	RANK	TAXPATH	TAXPATHSN	PERCENTAGE
2	superkingdom	2	Bacteria	29.21705
10239	superkingdom	10239	Viruses	47.18863
561	genus	2|||||561	Bacteria|||||Escherichia	29.21705
562	species	2|||||561|562	Bacteria|||||Escherichia|Escherichia coli	0.63482
