// The operands of attention and attention_grad for their kernels: sizes, attributes, data checks
// and costs.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <optional>
#include <string_view>
#include <type_traits>

#include "weft/core/error.h"
#include "weft/ops/kernels/gemm/bf16_split/choose.h"
#include "weft/ops/kernels/quantized/int8_rows.h"
#include "weft/ops/kernels/sequence/attention.h"
#include "weft/ops/sequence/attention_op.h"

namespace weft::attention_op {

/// Concrete sizes and attributes. The pointers are set for each run.
template <class T>
class Problem {
 public:
  Problem(const KernelRequest& request, bool gradient) : gradient_(gradient) {
    const auto sizes = [&](int operand) -> const Sizes& {
      return request.inputs[at(operand)].sizes;
    };
    for (int i = 0; i < kOperands; ++i) {
      present_[i] = position_of(i, gradient) >= 0 && request.has_input(at(i));
      wide_[i] = present_[i] && request.inputs[at(i)].dtype == DType::i64;
    }
    const DType keys_as = request.inputs[at(kK)].dtype;
    args_.packed = keys_as == DType::i8;
    args_.narrow = args_.packed || keys_as == DType::bf16;
    args_.narrow_queries = request.inputs[at(kQ)].dtype == DType::bf16;
    args_.B = sizes(kQ)[0];
    args_.H = sizes(kQ)[1];
    args_.Lq = sizes(kQ)[2];
    args_.D = sizes(kQ)[3];
    key_batch_ = sizes(kK)[0];
    args_.Hkv = sizes(kK)[1];
    args_.row_keys = sizes(kK)[2];
    table_ = present_[kKvRows] && sizes(kKvRows).size() == 2;
    if (table_) args_.columns = sizes(kKvRows)[1];
    const Dim& keys = request.attributes.dim("ring");
    args_.Lk = keys != Dim(0) ? keys.constant() : args_.row_keys * args_.columns;
    args_.Dv = sizes(kV)[3] - (args_.packed ? kernels::kRowScaleBytes : 0);
    if (present_[kBias]) args_.bias_strides = strides(sizes(kBias));
    if (present_[kMask]) args_.mask_strides = strides(sizes(kMask));
    if (present_[kOffsetBias]) args_.offset_count = sizes(kOffsetBias)[1];
    if (present_[kRowBias]) args_.row_count = sizes(kRowBias)[3];
    if (present_[kColBias]) args_.col_count = sizes(kColBias)[3];
    const Attributes& a = request.attributes;
    args_.causal = a.flag("causal");
    args_.window = a.integer("window");
    args_.chunk = a.integer("chunk");
    args_.soft_cap = static_cast<T>(a.real("soft_cap"));
    if (present_[kOffsets]) args_.texts = sizes(kOffsets)[0] - 1;
    args_.scale = static_cast<T>(a.real("scale"));
    const double rate = a.real("dropout");
    args_.drop_below = static_cast<std::uint64_t>(std::ceil(rate * 0x1p32));
    args_.keep_scale = static_cast<T>(1 / (1 - rate));
    args_.random.stream = static_cast<std::uint32_t>(a.integer("stream"));
    args_.batch_invariant = request.batch_invariant && !gradient;
    if (std::is_same_v<T, float> && !request.batch_invariant) {
      args_.engine = kernels::choose_tile_engine(request.precision, std::min(args_.Lq, kQueryBlock),
                                                 std::min(args_.most_keys(), kKeyBlock),
                                                 std::min(args_.D, args_.Dv));
    }
  }

  const AttentionArgs<T>& sizes() const { return args_; }

  AttentionArgs<T> bind(const KernelRun& run) const {
    AttentionArgs<T> a = args_;
    const auto pointer = [&](int i) -> const void* {
      return present_[i] ? run.inputs[at(i)] : nullptr;
    };
    const auto values = [&](int i) { return static_cast<const T*>(pointer(i)); };
    if (a.narrow_queries) {
      a.narrow_q = static_cast<const BFloat16*>(pointer(kQ));
    } else {
      a.q = values(kQ);
    }
    if (a.packed) {
      a.packed_k = static_cast<const std::int8_t*>(pointer(kK));
      a.packed_v = static_cast<const std::int8_t*>(pointer(kV));
    } else if (a.narrow) {
      a.narrow_k = static_cast<const BFloat16*>(pointer(kK));
      a.narrow_v = static_cast<const BFloat16*>(pointer(kV));
    } else {
      a.k = values(kK);
      a.v = values(kV);
    }
    a.bias = values(kBias);
    a.mask = static_cast<const bool*>(pointer(kMask));
    a.offset_bias = values(kOffsetBias);
    a.row_bias = values(kRowBias);
    a.row_index = indices(run, kRowIndex);
    a.col_bias = values(kColBias);
    a.col_index = indices(run, kColIndex);
    a.lengths = indices(run, kLengths);
    a.q_start = indices(run, kQStart);
    a.kv_rows = indices(run, kKvRows);
    a.sinks = values(kSinks);
    a.offsets = indices(run, kOffsets);
    if (a.drop_below > 0) {
      const auto* key = static_cast<const std::int64_t*>(pointer(kKey));
      a.random.seed = static_cast<std::uint64_t>(key[0]);
      a.random.step = static_cast<std::uint32_t>(key[1]);
    }
    return a;
  }

  /// Returns the data checks, or an empty function if there is no data to check. The checks read
  /// only the integer operands; the request specifies which other operands are present.
  std::function<void(const KernelRun&)> check() const {
    constexpr int kChecked[] = {kLengths, kQStart, kKvRows, kRowIndex, kColIndex, kOffsets};
    if (std::none_of(std::begin(kChecked), std::end(kChecked),
                     [&](int operand) { return present_[operand]; })) {
      return {};
    }
    return [self = *this](const KernelRun& run) {
      const AttentionArgs<T>& a = self.args_;
      if (self.present_[kOffsets]) check_offsets(self.indices(run, kOffsets), a.texts, a.Lq);
      for (std::int64_t b = 0; b < a.B; ++b) {
        if (self.present_[kLengths]) check_length(self.indices(run, kLengths)[b], a.Lk, b);
        if (self.present_[kQStart]) self.check_start(self.indices(run, kQStart)[b], b);
        if (self.table_) {
          self.check_table(self.bind(run), b);
        } else if (self.present_[kKvRows]) {
          self.check_row(self.indices(run, kKvRows)[b], b);
        }
        if (!self.table_ && a.row_keys < a.Lk) check_ring(self.bind(run), b);
      }
      if (self.present_[kRowIndex]) {
        check_index(a, self.indices(run, kRowIndex), a.row_count, "row_index", "row_bias");
      }
      if (self.present_[kColIndex]) {
        check_index(a, self.indices(run, kColIndex), a.col_count, "col_index", "col_bias");
      }
    };
  }

 private:
  static ScoreStrides strides(const Sizes& sizes) {
    const Sizes s = row_major_strides(sizes);
    const auto stride = [&](std::size_t i) { return sizes[i] == 1 ? 0 : s[i]; };
    return {stride(0), stride(1), stride(2), stride(3)};
  }

  IndexData indices(const KernelRun& run, int operand) const {
    return {present_[operand] ? run.inputs[at(operand)] : nullptr, wide_[operand]};
  }

  std::size_t at(int operand) const {
    return static_cast<std::size_t>(position_of(operand, gradient_));
  }

  static void check_offsets(const IndexData& offsets, std::int64_t texts, std::int64_t tokens) {
    if (texts < 0)
      throw DataError("offsets is empty: it must contain the beginning of every text and the end");
    if (offsets[0] != 0) {
      throw DataError(fmt::format("offsets[0] is {}: the first text must begin at 0", offsets[0]));
    }
    for (std::int64_t t = 0; t < texts; ++t) {
      if (offsets[t] <= offsets[t + 1]) continue;
      throw DataError(fmt::format("offsets[{}] is {}, which is less than offsets[{}] = {}", t + 1,
                                  offsets[t + 1], t, offsets[t]));
    }
    if (offsets[texts] == tokens) return;
    throw DataError(fmt::format(
        "offsets[{}], the end of the last text, is {}, but there are {} queries and keys", texts,
        offsets[texts], tokens));
  }

  static void check_length(std::int64_t length, std::int64_t keys, std::int64_t b) {
    if (length >= 0 && length <= keys) return;
    throw DataError(fmt::format("lengths[{}] is {}, but there are {} keys: it must be in [0, {}]",
                                b, length, keys, keys));
  }

  void check_row(std::int64_t row, std::int64_t b,
                 std::optional<std::int64_t> column = std::nullopt) const {
    if (row >= 0 && row < key_batch_) return;
    throw DataError(
        fmt::format("kv_rows[{}{}] is {}, but k and v have {} rows: it must be in [0, {})", b,
                    column ? fmt::format(", {}", *column) : "", row, key_batch_, key_batch_));
  }

  /// Checks the rows that contain visible keys; the others are not read.
  void check_table(const AttentionArgs<T>& a, std::int64_t b) const {
    if (a.Lq == 0) return;
    const auto keys = a.visible(b, 0, a.Lq);
    for (std::int64_t j = keys.begin; j < keys.end; j += a.contiguous(j, a.row_keys)) {
      const std::int64_t column = j / a.row_keys;
      check_row(a.kv_rows[b * a.columns + column], b, column);
    }
  }

  static void check_ring(const AttentionArgs<T>& a, std::int64_t b) {
    if (a.Lq == 0) return;
    const auto keys = a.visible(b, 0, a.Lq);
    if (keys.begin >= keys.end || a.length(b) - keys.begin <= a.row_keys) return;
    throw DataError(fmt::format(
        "row {} attends to keys {} to {} of {}, but k and v are ring buffers of {} keys: "
        "pass fewer queries at a time, or larger buffers",
        b, keys.begin, keys.end - 1, a.length(b), a.row_keys));
  }

  void check_start(std::int64_t start, std::int64_t b) const {
    const AttentionArgs<T>& a = args_;
    if (start < 0) {
      throw DataError(fmt::format("q_start[{}] is {}: it must not be negative", b, start));
    }
    if (a.causal && start > a.Lk - a.Lq) {
      throw DataError(
          fmt::format("cache overflow: q_start[{}] is {} and there are {} queries, but the cache "
                      "has room for only {} keys",
                      b, start, a.Lq, a.Lk));
    }
    // offset_bias must have at least `start + rest` entries per head.
    const std::int64_t rest = a.Lq + a.Lk - 1;
    if (present_[kOffsetBias] && a.Lq > 0 && start > a.offset_count - rest) {
      throw DataError(
          fmt::format("offset_bias has {} entries per head, but q_start[{}] = {} with {} queries "
                      "and {} keys requires {}",
                      a.offset_count, b, start, a.Lq, a.Lk,
                      static_cast<std::uint64_t>(start) + static_cast<std::uint64_t>(rest)));
    }
  }

  static void check_index(const AttentionArgs<T>& a, const IndexData& index, std::int64_t count,
                          std::string_view name, std::string_view table) {
    for (std::int64_t n = 0; n < a.Lq * a.Lk; ++n) {
      if (index[n] >= 0 && index[n] < count) continue;
      throw DataError(fmt::format("{}[{}, {}] is {}, but {} has {} entries: it must be in [0, {})",
                                  name, n / a.Lk, n % a.Lk, index[n], table, count, count));
    }
  }

  AttentionArgs<T> args_;
  std::int64_t key_batch_ = 0;  // axis 0 of k and v
  bool gradient_;               // the operands are those of attention_grad
  bool table_ = false;          // kv_rows has several rows for each row of q
  bool present_[kOperands] = {};
  bool wide_[kOperands] = {};
};

/// Returns the number of blocks that contain `length` elements.
inline std::int64_t blocks(std::int64_t length, std::int64_t block) {
  return (length + block - 1) / block;
}

/// Returns the estimated cost at about 20 multiply-adds per ns on one core, with `products` matrix
/// products over all pairs of query and key.
template <class T>
double pairs_ns(const AttentionArgs<T>& a, double products) {
  const double pairs = static_cast<double>(a.B * a.H * a.Lq) * static_cast<double>(a.most_keys()) /
                       static_cast<double>(std::max<std::int64_t>(1, a.texts));
  return pairs * (2 + products * static_cast<double>(a.D + a.Dv) / 40);
}

/// Returns the cost of reading keys and values from memory, at about 10 bytes per ns. This cost
/// dominates if there are few queries.
template <class T>
double key_bytes_ns(const AttentionArgs<T>& a) {
  const double size = a.packed ? 1 : a.narrow ? sizeof(BFloat16) : sizeof(T);
  return static_cast<double>(a.B * a.Hkv * a.most_keys() * (a.D + a.Dv)) * size / 10;
}

}  // namespace weft::attention_op
