// The sizes of packed blocks, shared by all drivers of engines.
#pragma once

#include <cstdint>

namespace weft::kernels {

/// The maximum number of rows of a packed block of A and of columns of a packed block of B,
/// following Goto and van de Geijn ("Anatomy of high-performance matrix multiplication", 2008):
/// both blocks, of one depth block, stay in the L2 cache while the engine multiplies them. With the
/// FMA engine in f32 (depth 384) they take 288 and 384 KiB. Multiples of the panels of all engines.
inline constexpr std::int64_t kBlockRows = 192;
inline constexpr std::int64_t kBlockColumns = 256;

}  // namespace weft::kernels
