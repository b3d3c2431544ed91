#include "weft/ops/kernels/indexing/shape_copy.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "weft/ops/kernel.h"
#include "weft/ops/kernels/stream_copy.h"

namespace weft::kernels {
namespace {

// The number of rows and columns of a tile. 32 * 32 * 8 bytes fit into half of the L1 cache.
constexpr std::int64_t kTile = 32;
constexpr std::int64_t kGrainBytes = 128 * 1024;

// Copies of a fixed size compile to single move instructions and do not require alignment.
template <std::size_t kSize>
inline void move(std::byte* to, const std::byte* from) {
  std::memcpy(to, from, kSize);
}

// Copies a contiguous run. If `stream`, whole cache lines are written with streaming stores.
void copy_bytes(const std::byte* src, std::byte* dst, std::size_t bytes, bool stream) {
  constexpr std::size_t kLine = 64, kLeastLines = 4;
  stream = stream && reinterpret_cast<std::uintptr_t>(dst) % kLine == 0 && bytes % kLine == 0 &&
           bytes >= kLeastLines * kLine;
  if (stream) {
    stream_copy(src, dst, bytes);
  } else {
    std::memcpy(dst, src, bytes);
  }
}

template <std::size_t kSize>
void copy_run(const std::byte* src, std::int64_t src_stride, std::byte* dst,
              std::int64_t dst_stride, std::int64_t n, bool stream) {
  constexpr auto size = static_cast<std::int64_t>(kSize);
  if (src_stride == 1 && dst_stride == 1) {
    copy_bytes(src, dst, static_cast<std::size_t>(n) * kSize, stream);
  } else if (src_stride == 0 && dst_stride == 1) {
    fill(dst, 0, n, src, kSize);
  } else {
    for (std::int64_t i = 0; i < n; ++i) {
      move<kSize>(dst + i * dst_stride * size, src + i * src_stride * size);
    }
  }
}

}  // namespace

StridedCopy::StridedCopy(const Sizes& sizes, const Sizes& src_strides, const Sizes& dst_strides,
                         std::size_t element_size)
    : element_size_(element_size) {
  elements_ = num_elements(sizes);
  std::vector<Axis> axes;
  for (std::size_t k = 0; k < sizes.size(); ++k) {
    const Axis axis{sizes[k], src_strides[k], dst_strides[k]};
    if (axis.size == 1) continue;
    if (!axes.empty() && axes.back().src == axis.src * axis.size &&
        axes.back().dst == axis.dst * axis.size) {
      axes.back() = {axes.back().size * axis.size, axis.src, axis.dst};
    } else {
      axes.push_back(axis);
    }
  }
  if (!axes.empty()) {
    inner_ = axes.back();
    axes.pop_back();
  }
  if (inner_.dst == 1 && inner_.src != 1 && inner_.src != 0) {
    const auto contiguous =
        std::find_if(axes.begin(), axes.end(), [](const Axis& a) { return a.src == 1; });
    if (contiguous != axes.end() && contiguous->size >= 4 && inner_.size >= 4) {
      rows_ = *contiguous;
      axes.erase(contiguous);
    }
  }
  outer_ = std::move(axes);
  units_ = elements_;
  if (rows_.size > 1) {
    units_ = (rows_.size + kTile - 1) / kTile;
    for (const Axis& a : outer_) units_ *= a.size;
  }
  const std::int64_t bytes = elements_ * static_cast<std::int64_t>(element_size);
  const std::int64_t wanted = chunk_count(bytes, kGrainBytes);
  chunks_ = std::clamp<std::int64_t>(units_, 1, wanted);
}

double StridedCopy::cost_ns() const {
  const bool runs = inner_.src == 1 && inner_.dst == 1 && inner_.size >= 8;
  const double bytes = static_cast<double>(elements_) * static_cast<double>(element_size_);
  return runs ? 0.1 * bytes : static_cast<double>(elements_);
}

template <std::size_t kSize>
void StridedCopy::run_sized(const std::byte* src, std::byte* dst, std::int64_t begin,
                            std::int64_t end) const {
  constexpr auto size = static_cast<std::int64_t>(kSize);
  const bool transposed = rows_.size > 1;
  // Several workers have read the memory of a large result while it contained earlier values. With
  // ordinary stores, every line invalidates their copies, which takes about 30 ns on AMD Zen 4.
  const bool stream = chunks_ > 1;
  const std::int64_t row_tiles = (rows_.size + kTile - 1) / kTile;
  const std::int64_t per_outer = transposed ? row_tiles : inner_.size;

  // Compute the offsets of the outer index that contains `begin`.
  std::int64_t rest = begin / per_outer;
  Sizes index(outer_.size());
  std::int64_t src_at = 0, dst_at = 0;
  for (std::size_t k = outer_.size(); k-- > 0;) {
    index[k] = rest % outer_[k].size;
    rest /= outer_[k].size;
    src_at += index[k] * outer_[k].src;
    dst_at += index[k] * outer_[k].dst;
  }
  std::int64_t unit = begin, within = begin % per_outer;
  while (unit < end) {
    const std::int64_t count = std::min(per_outer - within, end - unit);
    const std::byte* from = src + src_at * size;
    std::byte* to = dst + dst_at * size;
    if (transposed) {
      const std::int64_t row_end = std::min((within + count) * kTile, rows_.size);
      for (std::int64_t r0 = within * kTile; r0 < row_end; r0 += kTile) {
        const std::int64_t r1 = std::min(r0 + kTile, row_end);
        for (std::int64_t c0 = 0; c0 < inner_.size; c0 += kTile) {
          const std::int64_t columns = std::min(kTile, inner_.size - c0);
          for (std::int64_t r = r0; r < r1; ++r) {
            copy_run<kSize>(from + (r + c0 * inner_.src) * size, inner_.src,
                            to + (r * rows_.dst + c0) * size, 1, columns, false);
          }
        }
      }
    } else {
      copy_run<kSize>(from + within * inner_.src * size, inner_.src,
                      to + within * inner_.dst * size, inner_.dst, count, stream);
    }
    unit += count;
    within = 0;
    for (std::size_t k = outer_.size(); k-- > 0;) {
      src_at += outer_[k].src;
      dst_at += outer_[k].dst;
      if (++index[k] < outer_[k].size) break;
      src_at -= outer_[k].src * outer_[k].size;
      dst_at -= outer_[k].dst * outer_[k].size;
      index[k] = 0;
    }
  }
}

void StridedCopy::run(const std::byte* src, std::byte* dst, std::int64_t chunk) const {
  const auto [begin, end] = chunk_range(units_, chunks_, chunk);
  if (begin >= end) return;
  switch (element_size_) {
    case 1: run_sized<1>(src, dst, begin, end); break;
    case 2: run_sized<2>(src, dst, begin, end); break;
    case 4: run_sized<4>(src, dst, begin, end); break;
    default: run_sized<8>(src, dst, begin, end); break;
  }
  stream_fence();
}

namespace {

template <class T>
void fill_as(void* dst, std::int64_t begin, std::int64_t end, const void* value) {
  T v;
  std::memcpy(&v, value, sizeof(T));
  auto* to = static_cast<std::byte*>(dst);
  for (std::int64_t i = begin; i < end; ++i) {
    std::memcpy(to + static_cast<std::size_t>(i) * sizeof(T), &v, sizeof(T));
  }
}

}  // namespace

void fill(void* dst, std::int64_t begin, std::int64_t end, const void* value,
          std::size_t element_size) {
  switch (element_size) {
    case 1: return fill_as<std::uint8_t>(dst, begin, end, value);
    case 2: return fill_as<std::uint16_t>(dst, begin, end, value);
    case 4: return fill_as<std::uint32_t>(dst, begin, end, value);
    default: return fill_as<std::uint64_t>(dst, begin, end, value);
  }
}

}  // namespace weft::kernels
