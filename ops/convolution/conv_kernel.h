// The kernels of the convolution ops.
#pragma once

#include "weft/ops/kernel.h"

namespace weft {

Kernel conv2d_kernel(const KernelRequest& request);
Kernel conv2d_fused_kernel(const KernelRequest& request);
Kernel conv2d_input_grad_kernel(const KernelRequest& request);
Kernel conv2d_weight_grad_kernel(const KernelRequest& request);

}  // namespace weft
