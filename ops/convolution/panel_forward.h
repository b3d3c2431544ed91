// Convolutions that pack their patches directly into the panels of the FMA engine.
#pragma once

#include <functional>
#include <memory>

#include "weft/ops/fusion/epilogue.h"
#include "weft/ops/kernel.h"
#include "weft/ops/kernels/convolution/conv.h"

namespace weft {

/// Returns the kernel of a convolution in T, f32 or f64, with fused multiply-adds. If `epilogue` is
/// not null, it runs on the tiles of the result. The weights are packed once if they are constant,
/// and otherwise in every run. The bits of an element depend only on its patch and its weights.
///
/// The product of weights and patches is divided into tiles of positions and output channels. For
/// each of them, a worker packs the patches into its scratch.
template <class T>
Kernel panel_forward(const KernelRequest& request, const kernels::ConvGeometry& geometry,
                     const std::shared_ptr<const Epilogue>& epilogue);

}  // namespace weft
