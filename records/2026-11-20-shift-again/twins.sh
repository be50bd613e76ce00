set -eu
export MALLOC_MMAP_THRESHOLD_=8589934592 MALLOC_TRIM_THRESHOLD_=17179869184
two="nice -n 10 .venv/bin/torchrun --nproc-per-node 2 -m ivicl.cli train --threads 1"
[ -f runs/twins-counts/done ] || { $two -o runs/twins-counts --set seed=71 --set steps=1500 --set count_steps=1500 --set count_batches=2 --set small_share=0.35 --set count_draws=32 --set validate_every=1500 --set decay_from=0.3; touch runs/twins-counts/done; }
common="--from runs/twins-counts --set seed=72 --set count_steps=0 --set steps=500 --set warmup=50 --set decay_from=0.3 --set average=0.98 --set validate_every=500"
$two -o runs/shift-on $common
$two -o runs/shift-off $common --set prior.shift_steps=0
.venv/bin/ivicl export runs/shift-on -o runs/shift-on.onnx
.venv/bin/ivicl export runs/shift-off -o runs/shift-off.onnx
