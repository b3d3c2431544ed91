// Convolutions with kernels of 3 x 3 elements as 16 matrix products of transformed operands.
#pragma once

#include <memory>

#include "weft/ops/fusion/epilogue.h"
#include "weft/ops/kernel.h"
#include "weft/ops/kernels/convolution/conv.h"

namespace weft {

/// Returns true if winograd_forward() computes this convolution, which depends only on the sizes of
/// one image: kernels of 3 x 3 elements without strides, and enough channels.
bool fits_winograd(const kernels::ConvGeometry& geometry);

/// Returns the kernel of a convolution in f32 with 16 instead of 36 multiplications for 4 elements
/// of the result (ops/kernels/convolution/winograd.h). The transformed weights are packed once if
/// they are constant, and otherwise computed in every run. The bits of an element depend only on
/// its tile's patch and its weights.
///
/// An element that is not finite affects all elements of the tiles that read it.
Kernel winograd_forward(const KernelRequest& request, const kernels::ConvGeometry& geometry,
                        const std::shared_ptr<const Epilogue>& epilogue);

}  // namespace weft
