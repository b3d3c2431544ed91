// The sizes of packed blocks, shared by all code that runs engines.
#pragma once

#include <cstdint>

namespace weft::kernels {

/// The maximum number of rows in a packed block of A and the maximum number of columns in a packed
/// block of B. As in Goto and van de Geijn ("Anatomy of high-performance matrix multiplication",
/// 2008), both blocks, for one depth block, stay in the L2 cache while the engine multiplies them.
/// For the FMA engine in f32 (depth 384), they occupy 288 and 384 KiB. Both sizes are multiples of
/// the panel sizes of all engines.
inline constexpr std::int64_t kBlockRows = 192;
inline constexpr std::int64_t kBlockColumns = 256;

}  // namespace weft::kernels
