// Adapters for the golden cases of losses, segment functions, and maxima and minima at indices. The
// cases are made by tests/fixtures/goldens/ops/make.py.
#include "op_adapters.h"

namespace weft::golden {
namespace {

Reduction loss_reduction(const OpCase& c) {
  const std::string name = c.attrs.at("reduction");
  return name == "none" ? Reduction::none : name == "sum" ? Reduction::sum : Reduction::mean;
}

template <Value (*F)(Arg, Arg, Arg, int)>
OpOutputs combined_at(const OpCase& c) {
  return {{"out", F(c["x"], c["index"], c["src"], c.attrs.at("axis").get<int>())}};
}

template <Value (*F)(Arg, Arg, const Dim&)>
OpOutputs of_segments(const OpCase& c) {
  return {{"out", F(c["data"], c["ids"], c.attrs.at("segments").get<std::int64_t>())}};
}

OpOutputs soft_cross_entropy_case(const OpCase& c) {
  return {{"out", cross_entropy(c["x"], c["target"],
                                {.class_axis = 1,
                                 .label_smoothing = c.attrs.at("label_smoothing").get<double>(),
                                 .reduction = loss_reduction(c)})}};
}

OpOutputs focal_loss_case(const OpCase& c) {
  return {{"out", focal_loss(c["x"], c["target"],
                             {.gamma = c.attrs.at("gamma").get<double>(),
                              .class_axis = 1,
                              .reduction = loss_reduction(c)})}};
}

OpOutputs sigmoid_focal_loss_case(const OpCase& c) {
  SigmoidFocalLossOptions options{.gamma = c.attrs.at("gamma").get<double>(),
                                  .reduction = loss_reduction(c)};
  const auto& alpha = c.attrs.at("alpha");
  options.alpha = alpha.is_null() ? std::nullopt : std::optional(alpha.get<double>());
  return {{"out", sigmoid_focal_loss(c["x"], c["target"], options)}};
}

OpOutputs info_nce_case(const OpCase& c) {
  return {{"out", info_nce(c["queries"], c["keys"],
                           {.negatives = optional(c, "negatives"),
                            .in_batch = c.attrs.at("in_batch").get<bool>(),
                            .temperature = c["temperature"],
                            .normalize = c.attrs.at("normalize").get<bool>(),
                            .symmetric = c.attrs.at("symmetric").get<bool>(),
                            .reduction = loss_reduction(c)})}};
}

}  // namespace

void add_loss_adapters(std::map<std::string, OpAdapter>& adapters) {
  adapters["index_max"] = combined_at<index_max>;
  adapters["index_min"] = combined_at<index_min>;
  adapters["scatter_max"] = combined_at<scatter_max>;
  adapters["scatter_min"] = combined_at<scatter_min>;
  adapters["segment_sum"] = of_segments<segment_sum>;
  adapters["segment_mean"] = of_segments<segment_mean>;
  adapters["segment_max"] = of_segments<segment_max>;
  adapters["segment_min"] = of_segments<segment_min>;
  adapters["segment_softmax"] = of_segments<segment_softmax>;
  adapters["soft_cross_entropy"] = soft_cross_entropy_case;
  adapters["focal_loss"] = focal_loss_case;
  adapters["sigmoid_focal_loss"] = sigmoid_focal_loss_case;
  adapters["info_nce"] = info_nce_case;
}

}  // namespace weft::golden
