// ONNX files: reading a model as an ordinary graph, writing a program, and describing a file.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "weft/serialization/checkpoint.h"

namespace WEFT_API weft {

struct OnnxReadOptions {
  /// Values of inputs. An input whose value determines a shape (the second operand of Reshape, the
  /// `k` of TopK, the trip count of a loop) or selects a branch becomes a constant of the graph if
  /// its value is given here; OnnxModel::fixed_inputs lists these inputs. The values of all other
  /// inputs are ignored, so that a caller may pass everything that it is going to feed.
  TensorMap input_values = {};
  /// True: inputs with a value in `input_values` have the sizes of this value instead of symbols.
  /// A program for these sizes only can have branches and loops that depend on sizes.
  bool fixed_sizes = false;
  /// Sizes of symbolic axes, by name: {"batch", 1}. Other symbols remain symbols of the graph.
  std::map<std::string, std::int64_t, std::less<>> sizes = {};
  /// Names of values that become the outputs of the program, in this order, instead of the outputs
  /// of the file: the embedding below a classifier, for example. Only the nodes that they need are
  /// read. If empty, the outputs of the file.
  std::vector<std::string> outputs = {};
  /// True: floating initialisers are trainable parameters. False: they are frozen.
  bool trainable = true;
  /// The maximum number of bytes of tensors that reading may allocate, in addition to the
  /// initialisers of the file: results of constant expressions, whose sizes a file computes.
  std::uint64_t max_memory = std::uint64_t{1} << 32;
};

/// A model that was read from an ONNX file. It can be differentiated, extended, trained, printed
/// and saved like any other graph.
struct OnnxModel {
  /// The graph, one program named "predict" with the outputs of the file, and the initialisers:
  /// - floating initialisers are parameters with the names of the file; means and variances of
  ///   BatchNormalization are buffers; scalars are constants, because exporters write epsilons,
  ///   exponents and scales so;
  /// - other initialisers are constants of the graph, except for quantised weights, which are
  ///   variables in Weft's layout.
  /// The scope of every node is the name of its node in the file, and errors name the file and the
  /// number of the node as "model.onnx:12".
  Checkpoint checkpoint;
  std::int64_t opset = 0;  // version of the default domain
  std::string graph_name;
  std::string description;                      // doc_string of the model
  std::map<std::string, std::string> metadata;  // metadata_props
  /// Inputs that became constants (see OnnxReadOptions::input_values).
  std::vector<std::string> fixed_inputs;
};

/// Reads an ONNX model: IR versions 3 to 11, opsets 6 to 23 of the default domain (older versions
/// of an operator if its meaning has not changed), functions of the file, and the operators of
/// com.microsoft that transformer exporters write (docs/onnx.md lists everything that is
/// supported). Batch normalisation and dropout have their inference meaning. Initialisers with
/// external data are mapped, not copied.
/// Throws FormatError, with the path and the byte offset or the name and number of the node,
/// - if the file is damaged or no ONNX file, or external data is outside its file or folder;
/// - for an operator, a version, a dtype or an attribute that Weft cannot compute, by name;
/// - if a shape depends on the value of an input that is not in `input_values`, or on data;
/// - if a value in `input_values` does not have the declared dtype and, with `fixed_sizes`, sizes.
/// Throws IoError if a file cannot be read.
OnnxModel read_onnx(const std::string& path, const OnnxReadOptions& options = {});

struct OnnxWriteOptions {
  std::int64_t opset = 17;  // 13 to 23
  /// Written as metadata_props, for other programs: labels, for example.
  std::map<std::string, std::string> metadata = {};
  /// Parts of a Weft model (config, tokenizer, class names). They are written as metadata_props as
  /// well, and read_onnx() returns them as attachments of the checkpoint.
  std::vector<Attachment> attachments = {};
  std::string graph_name = "weft";
  std::string description = {};
  /// Weights are written to PATH.data if they exceed this size together; a protobuf message cannot
  /// exceed 2 GiB.
  std::uint64_t external_data_bytes = std::uint64_t{1} << 30;
};

/// Writes an inference program and the variables that it reads. Names of inputs, outputs and
/// variables are kept; nodes have the names of their scopes. Composite operations of the standard
/// (LayerNormalization, Gelu from opset 20, Attention from opset 23) are written as one node.
/// Scans become Scan, branches If, loops Loop, quantised weights DequantizeLinear. The
/// write is atomic, as for checkpoints. Throws ArgumentError, with the operation and its source
/// line, for a program with updates or an operation that ONNX cannot express; IoError if the file
/// cannot be written.
void write_onnx(const std::string& path, const Program& program, const VariableStore& store,
                const OnnxWriteOptions& options = {});

/// A description of a file that does not require that Weft supports its operators.
struct OnnxDescription {
  std::int64_t ir_version = 0;
  std::string producer;                        // name and version
  std::map<std::string, std::int64_t> opsets;  // by domain; "" is the default domain
  /// An input or output of the graph.
  struct Port {
    std::string name;
    std::string type;  // "f32[batch, 3, 224, 224]", or the ONNX type if Weft has no such dtype
  };
  std::vector<Port> inputs, outputs;
  /// All nodes of the file with one operator.
  struct Operator {
    std::string name;         // "Conv" or "com.microsoft.FastGelu"
    std::int64_t count = 0;   // with those in functions and bodies
    std::string unsupported;  // the reason, or "" if Weft supports the operator
  };
  std::vector<Operator> operators;  // by name
  std::int64_t parameters = 0;      // elements of floating initialisers
  std::uint64_t initializer_bytes = 0;
  std::map<std::string, std::string> metadata;
};
/// Throws FormatError and IoError as read_onnx() does, but not for unsupported operators.
OnnxDescription describe_onnx(const std::string& path);

/// Returns true if the file starts like an ONNX model (a protobuf message with ir_version and a
/// graph or producer). Throws IoError if it cannot be opened.
bool is_onnx_file(const std::string& path);

}  // namespace weft
