"""What img2dataset does, as a program of its own: `child.py TABLE FOLDER CORES CONNECTIONS SIDE`.

SIDE 0 keeps the bytes as they are served. It imports img2dataset alone, since its environment has
no fastload.
"""

import sys


def main() -> None:
    from img2dataset import download

    table, folder = sys.argv[1:3]
    cores, connections, side = map(int, sys.argv[3:])
    resized = {"image_size": side, "resize_mode": "keep_ratio_largest", "encode_quality": 90}
    kept = {"resize_mode": "no", "disable_all_reencoding": True}
    download(
        url_list=table, input_format="parquet", url_col="url", caption_col="caption",
        output_folder=folder, output_format="webdataset", processes_count=cores,
        thread_count=connections, number_sample_per_shard=2500,
        **(resized if side else kept),
    )  # fmt: skip


if __name__ == "__main__":
    main()
