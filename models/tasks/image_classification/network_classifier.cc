#include "weft/models/tasks/image_classification/network_classifier.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "weft/core/error.h"
#include "weft/graph/functions.h"
#include "weft/graph/ir/clone.h"
#include "weft/models/fields/check.h"
#include "weft/models/fields/numbers.h"
#include "weft/models/hf/published.h"
#include "weft/models/layers/linear.h"
#include "weft/serialization/onnx/onnx.h"

namespace weft {
namespace {

constexpr const char *kProgram = "network", *kPixels = "pixels", *kFeatures = "features",
                     *kLogits = "logits";

/// Returns true if the value does not depend on an input.
bool is_weight(const Value& value) {
  const std::vector<Node*> nodes = reachable_nodes({value});
  return std::none_of(nodes.begin(), nodes.end(),
                      [](const Node* n) { return n->op().name == "input"; });
}

/// Returns the left operand of the last matrix product that computes `logits`, or an undefined
/// Value if there is anything else than a bias or a softmax after it.
Value head_input(Value value) {
  while (value.defined()) {
    const Node& node = value.node();
    const std::string_view op = node.op().name;
    if (op == "matmul") return is_weight(node.input(1)) ? node.input(0) : Value();
    if (op == "add") {
      value = is_weight(node.input(1))   ? node.input(0)
              : is_weight(node.input(0)) ? node.input(1)
                                         : Value();
    } else if (op == "softmax" || op == "log_softmax" || op == "sigmoid" || op == "cast" ||
               op == "reshape") {
      value = node.input(0);
    } else {
      break;
    }
  }
  return {};
}

/// Returns features [batch, width] of any rank as a matrix.
Value as_rows(const Value& value) { return value.rank() <= 2 ? value : flatten(value, 1); }

/// The values of the network in the graph of its file.
struct NetworkValues {
  Value pixels, features, logits;
};

NetworkValues values_of(const Program& program, const std::string& path, bool given) {
  const std::vector<Value> inputs = program.inputs();
  if (inputs.size() != 1 || inputs.front().rank() != 4 || inputs.front().dtype() != DType::f32) {
    std::vector<std::string> found;
    for (const Value& input : inputs)
      found.push_back(
          fmt::format("{}: {}", input.node().attributes().text("name"), input.type().str()));
    throw FormatError(
        fmt::format("{}: an image network has one input f32 [batch, channels, height, width], but "
                    "the outputs depend on {}",
                    path, found.empty() ? "none" : fmt::format("{}", fmt::join(found, ", "))));
  }
  NetworkValues values{.pixels = inputs.front(), .features = {}, .logits = {}};
  const Shape& shape = values.pixels.shape();
  const auto is_size = [](const Dim& d) { return d.is_constant() && d.constant() > 0; };
  if (shape[0].as_symbol() == nullptr || !is_size(shape[1]) || !is_size(shape[2]) ||
      !is_size(shape[3])) {
    throw FormatError(fmt::format(
        "{}: the input must have a symbolic batch axis and images of a fixed size, but is {}: "
        "export the network with a dynamic first axis (torch.onnx.export(..., dynamic_axes))",
        path, values.pixels.type().str()));
  }
  const Value last = program.outputs().front().second;
  if (given) {
    values.features = last;
  } else {
    values.logits = last;
    values.features = head_input(last);
    if (!values.features.defined()) {
      throw FormatError(fmt::format(
          "{}: output '{}' is not the result of a matrix product with weights, so the position of "
          "a new head is unknown: name the value that the head reads (--features NAME)",
          path, program.outputs().front().first));
    }
  }
  const Shape& rows = values.features.shape();
  bool fits = rows.rank() >= 2 && rows[0] == shape[0];
  for (int axis = 1; axis < rows.rank(); ++axis) fits = fits && is_size(rows[axis]);
  if (!fits) {
    throw FormatError(fmt::format("{}: the features of a head need one row per image, but are {}",
                                  path, values.features.type().str()));
  }
  return values;
}

ImageNetwork network_of(Checkpoint file, const NetworkValues& values) {
  ImageNetwork network{.file = std::move(file),
                       .config = {},
                       .pixels = values.pixels,
                       .features = values.features,
                       .logits = values.logits,
                       .labels = {}};
  const Shape& images = values.pixels.shape();
  std::int64_t width = 1;
  for (int axis = 1; axis < values.features.rank(); ++axis)
    width *= values.features.shape()[axis].constant();
  network.config = {.channels = images[1].constant(),
                    .image_height = images[2].constant(),
                    .image_width = images[3].constant(),
                    .features = width};
  return network;
}

ImageNetwork read_classifier_file(const std::string& path, const std::string& features) {
  if (!features.empty())
    throw ArgumentError(fmt::format("--features is for ONNX files; {} is a .weft file", path));
  Checkpoint file = load_checkpoint(path, {.verify = true, .once = true});
  const Program& program = file.program(kProgram);
  NetworkValues values;
  values.pixels = file.graph().find_input(kPixels);
  for (const auto& [name, value] : program.outputs())
    (name == kFeatures ? values.features : values.logits) = value;
  ImageNetwork network = network_of(std::move(file), values);
  if (const Attachment* images = network.file.find_attachment("model.images"))
    network.labels = ImageInfo::from_json(images->bytes).classes;
  return network;
}

/// Copies values of the network to `graph`.
class NetworkCopy {
 public:
  NetworkCopy(const ImageNetwork& network, Graph& graph, const Value& pixels)
      : cloner_(graph, options(network, graph)) {
    const auto map = options(network, graph).map_symbol;
    for (const DimEquation& e : network.file.graph().requirements()) {
      graph.require(e.left.substitute(map) == e.right.substitute(map));
    }
    cloner_.set(network.pixels, pixels);
  }
  Value operator()(const Value& value) { return cloner_.copy(value); }

 private:
  /// The batch of the network is that of `graph`; other symbols keep their names.
  static CloneOptions options(const ImageNetwork& network, Graph& graph) {
    return {.map_symbol = [batch = network.pixels.shape()[0].as_symbol(),
                           &graph](const SymbolPtr& symbol) -> std::optional<Dim> {
      return graph.dim(symbol == batch ? "batch" : symbol->name);
    }};
  }
  Cloner cloner_;
};

}  // namespace

void NetworkConfig::check() const {
  for (const auto& [name, value] : {std::pair<std::string_view, std::int64_t>{"channels", channels},
                                    {"image_height", image_height},
                                    {"image_width", image_width},
                                    {"features", features}})
    check::at_least(name, value, 1);
}

const FieldList<NetworkConfig>& NetworkConfig::fields() {
  static const auto list =
      FieldList<NetworkConfig>("the network", "network")
          .add("channels", &NetworkConfig::channels, "channels of the images")
          .add("image_height", &NetworkConfig::image_height, "in pixels")
          .add("image_width", &NetworkConfig::image_width, "in pixels")
          .add("features", &NetworkConfig::features, "width of the features that the head reads");
  return list;
}

ImageNetwork read_image_network(const std::string& path, const std::string& features) {
  if (is_weft_file(path)) return read_classifier_file(path, features);
  OnnxReadOptions options;
  if (!features.empty()) options.outputs = {features};
  OnnxModel model = read_onnx(path, options);
  const NetworkValues values =
      values_of(model.checkpoint.programs().front(), path, !features.empty());
  ImageNetwork network = network_of(std::move(model.checkpoint), values);
  if (const auto labels = model.metadata.find("labels");
      labels != model.metadata.end() && network.logits.defined())
    network.labels = PartValue<std::vector<std::string>>::read({"labels", "", labels->second});
  return network;
}

const ModelLayout& NetworkClassifier::file_layout() {
  static const ModelLayout layout =
      ModelLayout{.kind = "classifier with an imported network",
                  .uses = {Use::classify},
                  .programs = {"evaluate", "classify", kProgram}}
          .config(&NetworkClassifier::config)
          .part("model.images", "weft.images", &NetworkClassifier::images)
          .part("train.augmentation", "weft.train.augmentation", &NetworkClassifier::augmentation);
  return layout;
}

void NetworkClassifier::check() const {
  config.check();
  AnyImageClassifier::check();
}

FolderModel NetworkClassifier::to_folder() const {
  throw ArgumentError(
      "a network from an ONNX file has no class in transformers: convert it to an ONNX file "
      "(weft convert MODEL --out NAME.onnx)");
}

std::unique_ptr<ImageEncoder> NetworkClassifier::image_encoder() const {
  throw FormatError("the model is " + layout().unsupported_use_message(Use::embed));
}

NetworkClassifier build_network_classifier(const ImageNetwork& network,
                                           const std::vector<std::string>& classes,
                                           const ImageNormalisation& normalisation,
                                           const ImageAugmentation& augmentation,
                                           const TrainSettings& settings, SourceLocation loc) {
  settings.check();
  NetworkClassifier model;
  model.task = "network-classification";
  model.settings = settings;
  model.config = network.config;
  model.images = {classes, normalisation, default_geometry(model.image_size())};
  model.augmentation = augmentation;
  model.check();

  Graph& graph = *model.graph;
  const ValueType type(DType::f32, Shape{graph.dim("batch"), network.config.channels,
                                         network.config.image_height, network.config.image_width});
  const Value images = graph.input("images", type, loc);
  const Value labels = graph.input("labels", DType::i32, {"batch"}, loc);
  const Value pixels = graph.input(kPixels, type, loc);
  const bool keeps_head = network.logits.defined() && network.labels == classes;
  std::optional<Linear> head;
  const auto outputs = [&](const Value& from) {
    NetworkCopy copy(network, graph, from);
    const Value features = as_rows(copy(network.features));
    if (keeps_head) return std::pair(features, copy(network.logits));
    if (!head) {
      head = make_linear(Scope(graph, "classifier"), DType::f32, network.config.features,
                         static_cast<std::int64_t>(classes.size()),
                         {.initializer = Initializer::normal(0.02)}, loc);
    }
    return std::pair(features, (*head)(features));
  };
  const auto [features, network_logits] = outputs(pixels);
  const Value logits = outputs(normalised(images, normalisation)).second;

  Program train("train"), alone(kProgram);
  train.output("loss", cross_entropy(logits, labels, {.reduction = settings.loss_reduction()}),
               loc);
  alone.precision(settings.precision)
      .output(kFeatures, features, loc)
      .output(kLogits, network_logits, loc);
  model.programs = {{"train", train}, {kProgram, alone}};
  add_image_inference(model.programs, logits, labels, settings.precision, loc);
  return model;
}

std::string describe_images_model(const NetworkConfig& c, const Graph& graph) {
  return fmt::format(
      "model     network from a file: images of {} x {} x {}, {} features: {} "
      "parameters\n",
      c.channels, c.image_height, c.image_width, c.features, grouped(hf::count_parameters(graph)));
}

}  // namespace weft
