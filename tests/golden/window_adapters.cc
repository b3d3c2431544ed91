// Adapters for golden cases with transposed convolutions, convolutions with "same" padding,
// adaptive pooling and embedding bags.
#include "op_adapters.h"

namespace weft::golden {
namespace {

Size2d pair(const OpCase& c, const char* name) {
  return {c.attrs.at(name).at(0).get<std::int64_t>(), c.attrs.at(name).at(1).get<std::int64_t>()};
}
std::int64_t integer(const OpCase& c, const char* name) {
  return c.attrs.at(name).get<std::int64_t>();
}

OpOutputs conv_transpose1d_case(const OpCase& c) {
  return {{"out", conv_transpose1d(c["x"], c["w"], optional(c, "b"),
                                   {.stride = integer(c, "stride"),
                                    .padding = integer(c, "padding"),
                                    .output_padding = integer(c, "output_padding"),
                                    .dilation = integer(c, "dilation"),
                                    .groups = integer(c, "groups")})}};
}

OpOutputs conv_transpose2d_case(const OpCase& c) {
  return {{"out", conv_transpose2d(c["x"], c["w"], optional(c, "b"),
                                   {.stride = pair(c, "stride"),
                                    .padding = pair(c, "padding"),
                                    .output_padding = pair(c, "output_padding"),
                                    .dilation = pair(c, "dilation"),
                                    .groups = integer(c, "groups")})}};
}

OpOutputs conv2d_same_case(const OpCase& c) {
  return {{"out", conv2d(c["x"], c["w"], {},
                         {.padding = same_padding,
                          .dilation = pair(c, "dilation"),
                          .groups = integer(c, "groups")})}};
}

OpOutputs adaptive_avg_pool2d_case(const OpCase& c) {
  return {{"out", adaptive_avg_pool2d(c["x"], pair(c, "size"))}};
}

OpOutputs embedding_bag_case(const OpCase& c) {
  const std::string reduction = c.attrs.at("reduction");
  return {{"out", embedding_bag(c["ids"], c["weight"],
                                {.reduction = reduction == "sum"    ? BagReduction::sum
                                              : reduction == "mean" ? BagReduction::mean
                                                                    : BagReduction::max,
                                 .lengths = optional(c, "lengths"),
                                 .offsets = optional(c, "offsets"),
                                 .factors = optional(c, "factors")})}};
}

}  // namespace

void add_window_adapters(std::map<std::string, OpAdapter>& adapters) {
  adapters["conv_transpose1d"] = conv_transpose1d_case;
  adapters["conv_transpose2d"] = conv_transpose2d_case;
  adapters["conv2d_same"] = conv2d_same_case;
  adapters["adaptive_avg_pool2d"] = adaptive_avg_pool2d_case;
  adapters["embedding_bag"] = adapters["embedding_bag_lengths"] = embedding_bag_case;
}

}  // namespace weft::golden
