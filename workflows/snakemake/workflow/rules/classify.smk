# Classify the shards of a sample, and merge them to the outputs of one run.


rule classify_part:
    input:
        unpack(classify_input),
    output:
        manifest=temp("results/{sample}/parts/{i}.json"),
        **{k: temp("results/{sample}/parts/{i}." + ENDINGS[k]) for k in by_record},
    log:
        "logs/{sample}/classify.{i}.log",
    benchmark:
        "logs/{sample}/classify.{i}.time.tsv"
    params:
        shard=lambda wildcards: f"{wildcards.i}/{config['parts']}",
        sample="{sample}",
        extra=classify_extra(),
    threads: config["threads"]
    resources:
        mem_mb=config["mem_mb"],
        runtime=config["runtime"],
    wrapper:
        f"{wrappers}/classify"


rule merge:
    input:
        manifests=lambda wildcards: part(wildcards.sample, "json"),
        outputs=lambda wildcards: [f for k in by_record for f in part(wildcards.sample, ENDINGS[k])],
    output:
        **{k: "results/{sample}/{sample}." + ENDINGS[k] for k in outputs},
    log:
        "logs/{sample}/merge.log",
    resources:
        mem_mb=500,
        runtime=config["runtime"],
    wrapper:
        f"{wrappers}/merge"
