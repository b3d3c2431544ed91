// Conversion of graphs, variables and programs to and from protobuf messages. Internal: protobuf
// stays out of public headers.
#pragma once

#include <google/protobuf/message.h>
#include <google/protobuf/stubs/logging.h>

#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "weft/graph/ir/program.h"
#include "weft/serialization/container.h"
#include "weft_proto/weft.pb.h"

namespace weft {

/// Parses the message in a record. Throws FormatError with the offset if the record is not a valid
/// message. (Protobuf's own log message to stderr is suppressed.)
template <class Message>
Message parse_record(const Container& file, const Record& record) {
  const google::protobuf::LogSilencer quiet;
  Message message;
  if (!message.ParseFromArray(file.payload(record), static_cast<int>(record.length))) {
    file.fail(record.offset,
              "a " + record_type_name(record.type) + " record is not a valid message");
  }
  return message;
}

/// Serialises a message. Throws ArgumentError, with the string in the message, if a string is not
/// valid UTF-8, because such a message could not be parsed.
std::string message_bytes(const google::protobuf::Message& message);

/// Data records that are still to be written. add() returns the number of the record, counted from
/// 1. Strings are the contents of attachments; they must outlive the list.
class DataList {
 public:
  std::uint64_t add(Tensor tensor);
  std::uint64_t add(const std::string& bytes);
  void write(ContainerWriter& writer) const;

 private:
  struct Item {
    const void* data;
    std::size_t bytes;
    Tensor owner;
  };
  std::vector<Item> items_;
};

/// Writes a graph (with the bodies of its functions), its variables and its programs.
class GraphWriter {
 public:
  GraphWriter(ContainerWriter& writer, DataList& data) : writer_(writer), data_(data) {}

  /// Writes `nodes`, which are sorted by id and closed under inputs, with their names. Stores the
  /// number of every value, counted from 1, for program().
  void write(const Graph& graph, const std::vector<Node*>& nodes);
  v1::Program program(const Program& program) const;
  /// Returns the message of a variable, except the location of its value.
  static v1::Variable variable(const VariableInfo& info);

 private:
  using Numbers = std::unordered_map<Value, std::uint32_t, ValueHash>;
  void graph(const Graph& g, const std::vector<Node*>& nodes, const Function* function,
             std::uint32_t parent, Numbers& numbers);
  void node(const Node& n, const Numbers& numbers,
            std::map<std::pair<std::string, int>, std::uint32_t>& ops,
            std::map<std::string, std::uint32_t>& strings, v1::Node& out);
  void attribute(const Attribute& value, v1::Attribute& out);

  ContainerWriter& writer_;
  DataList& data_;
  std::uint32_t next_id_ = 1;
  Numbers main_;
};

/// Reads the records that GraphWriter wrote. Throws FormatError with the byte offset of the record
/// for any defect.
class GraphReader {
 public:
  GraphReader(const Container& file, std::shared_ptr<const OpSet> ops)
      : file_(file), ops_(std::move(ops)) {}

  /// Reads the main graph, with the variables of the manifest.
  std::unique_ptr<Graph> read(const v1::Variables& manifest);
  /// Reads the programs of the graph. Must be called after read().
  std::vector<Program> programs();

  static ValueType type(Graph& graph, const v1::Type& type);
  static DType dtype(std::uint32_t number);
  static VariableKind kind(std::uint32_t number);

 private:
  std::unique_ptr<Graph> build(const v1::Graph& message, std::vector<const Record*> nodes,
                               const v1::Variables* manifest, std::vector<Value>& values);
  void nodes(Graph& graph, const v1::Graph& message, const Record& record,
             std::vector<Value>& values, std::uint64_t& count);
  void node(Graph& graph, const v1::Graph& message, const v1::Node& node,
            std::vector<Value>& values);
  Attribute attribute(Graph& graph, const v1::Attribute& message);
  Tensor constant(const v1::Constant& message);
  static Value value(const std::vector<Value>& values, std::uint32_t number);

  const Container& file_;
  std::shared_ptr<const OpSet> ops_;
  std::uint64_t offset_ = 0;                                  // of the current record
  std::map<std::uint32_t, std::vector<Function>> functions_;  // by id of the parent graph
  std::vector<Value> main_;
  Graph* graph_ = nullptr;
};

}  // namespace weft
