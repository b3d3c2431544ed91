#include "weft/graph/functions/composed/segments.h"

#include <fmt/format.h>

#include <limits>
#include <type_traits>

#include "weft/core/error.h"
#include "weft/graph/functions/arithmetic.h"
#include "weft/graph/functions/index.h"
#include "weft/graph/functions/math.h"
#include "weft/graph/functions/reduce.h"
#include "weft/graph/functions/shape.h"

namespace weft {
namespace {

/// Returns the neutral element of the maximum or the minimum.
Tensor neutral_extreme(DType dtype, bool largest) {
  Tensor neutral = Tensor::zeros(dtype, {});
  visit_dtype(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    using Limits = std::numeric_limits<T>;
    if constexpr (std::is_floating_point_v<T>) {
      *neutral.mutable_data<T>() = largest ? -Limits::infinity() : Limits::infinity();
    } else if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      *neutral.mutable_data<T>() = largest ? Limits::lowest() : Limits::max();
    }
  });
  return neutral;
}

/// The checked operands of a segment function. Nodes that are created during the lifetime of this
/// object are recorded as built inside the function.
class Segments {
 public:
  Segments(const char* function, const Arg& data, const Arg& ids, const Dim& count, bool integers)
      : data_(data.value(function)),
        ids_(ids.value(function)),
        count_(count),
        frame_(data_.graph(), function, data.location()) {
    const auto fail = [&](const Error& error) {
      data_.graph().fail(error, function, {data_, ids_}, data.location());
    };
    const bool numeric = data_.dtype() == DType::f32 || data_.dtype() == DType::f64 ||
                         (integers && is_integer(data_.dtype()));
    if (!numeric) {
      fail(DTypeError(fmt::format("data must be f32{}, but is {}",
                                  integers ? ", f64 or of an integer dtype" : " or f64",
                                  dtype_name(data_.dtype()))));
    }
    if (data_.rank() == 0) fail(ShapeError("data must be [n, ...], but is a scalar"));
    if (ids_.dtype() != DType::i32 && ids_.dtype() != DType::i64) {
      fail(DTypeError(
          fmt::format("segment_ids must be i32 or i64, but are {}", dtype_name(ids_.dtype()))));
    }
    if (ids_.rank() != 1 || !data_.graph().facts().equal(ids_.shape()[0], data_.shape()[0])) {
      fail(
          ShapeError(fmt::format("segment_ids must be [{}], one id for each row of data {}, but "
                                 "are {}",
                                 data_.shape()[0].str(), data_.shape().str(), ids_.shape().str())));
    }
    if (count.is_constant() && count.constant() < 0) {
      fail(ShapeError(fmt::format("num_segments must not be negative, but is {}", count.str())));
    }
  }

  const Value& data() const { return data_; }
  DType dtype() const { return data_.dtype(); }

  Value sums(const Value& rows) const {
    return index_add(zeros(graph(), rows.dtype(), shape_of(rows)), ids_, rows);
  }
  Value extremes(bool largest) const {
    const Value neutral =
        broadcast_to(graph().constant(neutral_extreme(dtype(), largest)), shape_of(data_));
    return largest ? index_max(neutral, ids_, data_) : index_min(neutral, ids_, data_);
  }
  /// Returns the number of rows of each segment, [num_segments, 1, ...].
  Value counts() const {
    Shape shape{count_};
    while (shape.rank() < data_.rank()) shape.push_back(1);
    return reshape(sums(ones(graph(), DType::i64, {data_.shape()[0]})), shape);
  }
  /// Returns, for each row, the row of its segment in `per_segment`.
  Value of_rows(const Value& per_segment) const { return take(per_segment, ids_); }

 private:
  Graph& graph() const { return data_.graph(); }
  /// Returns the shape of a reduction of `rows`.
  Shape shape_of(const Value& rows) const {
    Shape shape = rows.shape();
    shape[0] = count_;
    return shape;
  }

  Value data_, ids_;
  Dim count_;
  Graph::Frame frame_;
};

}  // namespace

Value segment_sum(Arg data, Arg segment_ids, const Dim& num_segments) {
  const Segments s("segment_sum", data, segment_ids, num_segments, true);
  return s.sums(s.data());
}

Value segment_mean(Arg data, Arg segment_ids, const Dim& num_segments) {
  const Segments s("segment_mean", data, segment_ids, num_segments, false);
  return s.sums(s.data()) / cast(maximum(s.counts(), 1), s.dtype());
}

Value segment_max(Arg data, Arg segment_ids, const Dim& num_segments) {
  return Segments("segment_max", data, segment_ids, num_segments, true).extremes(true);
}

Value segment_min(Arg data, Arg segment_ids, const Dim& num_segments) {
  return Segments("segment_min", data, segment_ids, num_segments, true).extremes(false);
}

Value segment_softmax(Arg data, Arg segment_ids, const Dim& num_segments) {
  const Segments s("segment_softmax", data, segment_ids, num_segments, false);
  // The largest element of each segment is subtracted, so that no exponential overflows and the
  // result does not depend on a common offset. No gradient flows through it, because the result
  // does not depend on it.
  const Value largest = stop_gradient(s.extremes(true));
  const Value e = exp(s.data() - s.of_rows(largest));
  return e / s.of_rows(s.sums(e));
}

Value segment_ids(Arg offsets, const Dim& n) {
  const Value given = offsets.value("segment_ids");
  Graph& graph = given.graph();
  Graph::Frame frame(graph, "segment_ids", offsets.location());
  if (given.rank() != 1 || (given.dtype() != DType::i32 && given.dtype() != DType::i64)) {
    graph.fail(ShapeError(fmt::format("offsets must be i32 or i64 [num_segments + 1], but are {}",
                                      given.type().str())),
               "segment_ids", {given}, offsets.location());
  }
  // Counts the segments that end at each row; the last ones end after row n - 1.
  const Value ends = slice(given, 0, {.begin = Dim(1)});
  const Value counts =
      index_add(zeros(graph, DType::i64, {n + 1}), ends, ones(graph, DType::i64, {ends.size(0)}));
  return slice(cumsum(counts, 0), 0, {.end = n});
}

}  // namespace weft
