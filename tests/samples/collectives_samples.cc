// Samples of the operations in ops/structure/collectives.cc.
#include "weft/tests/samples/op_samples.h"
#include "weft/tests/samples/sample_data.h"

namespace weft {
namespace {

const Tensor& sample_x() {
  static const Tensor x = Tensor::of<float>({2, 3}, {1, -2, 3, 0.5f, 0, -1});
  return x;
}

Attributes one_rank() { return {{"ranks", std::int64_t{1}}}; }

std::vector<OpSample> collective_samples() {
  return {{{sample_x()}, one_rank()}, {{Tensor::zeros(DType::f32, {0, 3})}, one_rank()}};
}

std::vector<OpSample> broadcast_samples() {
  std::vector<OpSample> all = collective_samples();
  for (OpSample& s : all) s.attributes.set("root", std::int64_t{0});
  return all;
}

std::vector<OpSample> send_recv_samples() {
  std::vector<OpSample> all = collective_samples();
  all.push_back({{sample_x()}, one_rank()});
  for (OpSample& s : all) {
    s.attributes.set("from", Ints{0});
    s.attributes.set("to", Ints{0});
  }
  all.back().attributes.set("from", Ints{});
  all.back().attributes.set("to", Ints{});
  return all;
}

std::vector<OpSample> rank_number_samples() { return {{{}, one_rank()}}; }

Attributes of_ranks(std::int64_t ranks) { return {{"ranks", ranks}}; }

std::vector<OpErrorSample> all_reduce_errors() {
  return {{{{DType::f32, {4}}}, of_ranks(0), "ranks is 0; it must be 1 to 2^20"},
          {{{DType::bf16, {4}}}, of_ranks(2), "bf16 values cannot be summed over ranks"}};
}

std::vector<OpErrorSample> all_gather_errors() {
  return {{{{DType::f32, {}}}, of_ranks(2), "x must have at least 1 axes, but f32[] has 0"}};
}

std::vector<OpErrorSample> split_errors() {
  return {{{{DType::f32, {5, 2}}},
           of_ranks(2),
           "the first axis, 5, cannot be divided into 2 equal "
           "parts"}};
}

std::vector<OpErrorSample> rank_number_errors() {
  return {{{}, of_ranks(-1), "ranks is -1; it must be 1 to 2^20"}};
}

std::vector<OpErrorSample> broadcast_errors() {
  return {{{{DType::f32, {5}}},
           {{"ranks", std::int64_t{2}}, {"root", std::int64_t{2}}},
           "root is 2, but ranks are 0 to 1"}};
}

std::vector<OpErrorSample> send_recv_errors() {
  const auto of = [](Ints from, Ints to) {
    return Attributes{{"ranks", std::int64_t{2}}, {"from", from}, {"to", to}};
  };
  return {{{{DType::f32, {5}}}, of({0}, {}), "`from` has 1 ranks, but `to` has 0"},
          {{{DType::f32, {5}}}, of({0}, {2}), "rank 2 is out of range: ranks are 0 to 1"},
          {{{DType::f32, {5}}}, of({0, 0}, {0, 1}), "rank 0 sends twice"},
          {{{DType::f32, {5}}}, of({0, 1}, {1, 1}), "rank 1 receives twice"}};
}

}  // namespace

void add_samples(CollectiveOps, OpSamples& all) {
  all.add("all_reduce", collective_samples, all_reduce_errors);
  all.add("all_gather", collective_samples, all_gather_errors);
  all.add("reduce_scatter", collective_samples, split_errors);
  all.add("all_to_all", collective_samples, split_errors);
  all.add("broadcast_from", broadcast_samples, broadcast_errors);
  all.add("send_recv", send_recv_samples, send_recv_errors);
  all.add("rank_number", rank_number_samples, rank_number_errors);
}

}  // namespace weft
