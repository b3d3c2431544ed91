#include "weft/serialization/checkpoint.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <boost/test/unit_test.hpp>
#include <cstring>
#include <random>
#include <set>

#include "weft/core/error.h"
#include "weft/graph/control/call.h"
#include "weft/graph/ir/difference.h"
#include "weft/graph/passes/verify.h"
#include "weft/graph/text/text.h"
#include "weft/serialization/container.h"
#include "weft/serialization/files/crc32c.h"
#include "weft/tests/serialization/file_bytes.h"
#include "weft/tests/support/messages.h"
#include "weft_proto/weft.pb.h"

namespace weft {
namespace {

using testing::read_file;
using testing::says;
using testing::TemporaryFolder;
using testing::write_file;

Value sum(Value x, std::vector<std::int64_t> axes) {
  return x.graph().apply("sum", {x}, {{"axes", axes}, {"keepdims", false}}).output(0);
}

// Builds two programs over one graph with functions, a custom gradient, small and large constants,
// names, tied variables, a cache and a random key.
std::vector<Program> sample(Graph& g) {
  Graph::Frame frame(g, "model", SourceLocation::current(), "net.block");
  const Value x = g.input("x", DType::f32, {"batch", "seq", 4});
  g.require(g.dim("seq") == g.dim("half") * 2);
  const Variable gain =
      g.variable("gain", DType::f32, {4}, {.initializer = Initializer::normal(0.3, 0.1)});
  g.alias("tied", gain);
  const Variable frozen =
      g.variable("frozen", DType::i64, {3}, {.kind = VariableKind::buffer, .trainable = false});
  const Variable empty = g.variable("empty", DType::f32, {0, 5}, {.trainable = false});
  const Variable cache =
      g.variable("cache", DType::f32, {"batch", 2}, {.kind = VariableKind::cache});
  const Variable key = g.key("dropout");
  const Value norm =
      g.apply("layer_norm", {x, Value(), gain.value()}, {{"axes", std::int64_t{1}}, {"eps", 1e-5}})
          .output(0);
  g.set_name("hidden", norm);
  std::vector<float> many(5000);
  for (std::size_t i = 0; i < many.size(); ++i) many[i] = 0.1f * static_cast<float>(i);
  define_function(g, "total", {{"a", DType::f32, {"n", "m", 4}}},
                  [](Graph& body, const std::vector<Value>& in) {
                    define_function(body, "inner", {{"b", DType::f32, {"k"}}},
                                    [](Graph&, const std::vector<Value>& b) {
                                      return std::vector<Value>{sum(b[0], {0})};
                                    });
                    return call(body, "inner", {sum(in[0], {1, 2})});
                  });
  const Value total = call(g, "total", {norm})[0];
  const Value mine = custom_gradient(
      g, "mine", {norm},
      [](Graph&, const std::vector<Value>& in) { return std::vector<Value>{sum(in[0], {2})}; },
      [](Graph& body, const std::vector<Value>& in) {
        return std::vector<Value>{body.apply("optimization_barrier", {in[0]}).output(0)};
      })[0];
  return {Program("train")
              .precision(Precision::high)
              .batch_invariant()
              .shards({.count = 2, .axis = "rows"})
              .output("total", total)
              .output("mine", mine)
              .output("wide",
                      g.apply("broadcast_to", {gain.value()}, {{"shape", Shape{g.dim("half"), 4}}})
                          .output(0))
              .output("again", g.apply(g.ops().at("neg"), {norm}, {}, {}, 7).output(0))
              .output("large", g.constant(Tensor::of<float>({5000}, many)))
              .output("small", g.constant(Tensor::of<bool>({2}, {true, false})))
              .output("rows", g.apply("dim_value", {},
                                      {{"dim", g.dim("half") * 3 + 1}, {"dtype", DType::i64}})
                                  .output(0))
              .update(gain, sum(norm, {0, 1})),
          Program("eval")
              .output("hidden", norm)
              .output("cache", cache.value())
              .output("frozen", frozen.value())
              .output("empty", empty.value())
              .output("key", key.value())};
}

Tensor value_of(const VariableInfo& info) {
  Tensor t = Tensor::zeros(info.type.dtype, info.type.shape.constant());
  for (std::size_t i = 0; i < t.bytes(); ++i) {
    t.mutable_raw()[i] = static_cast<std::byte>(i * 37 + info.name.size());
  }
  return t;
}

const SaveOptions kAttachments = {
    .attachments = {{"vocabulary", "test.words", "a b\0c"}, {"nothing", "test.empty", ""}}};

BOOST_AUTO_TEST_SUITE(checkpoint)

BOOST_AUTO_TEST_CASE(crc32c_matches_published_values) {
  // Values from RFC 3720, appendix B.4, and the common check value.
  const std::string zeros(32, '\0'), ones(32, '\xff'), digits = "123456789";
  BOOST_TEST(crc32c(zeros.data(), 32) == 0x8a9136aau);
  BOOST_TEST(crc32c(ones.data(), 32) == 0x62a8ab43u);
  BOOST_TEST(crc32c(digits.data(), 9) == 0xe3069283u);
  BOOST_TEST(crc32c(digits.data() + 4, 5, crc32c(digits.data(), 4)) == 0xe3069283u);
  std::string random(1000, '\0');
  std::mt19937 bits(1);
  for (char& c : random) c = static_cast<char>(bits());
  for (std::size_t begin = 0; begin < 9; ++begin) {
    for (const std::size_t size : {0, 1, 7, 8, 9, 63, 900}) {
      BOOST_TEST(crc32c(random.data() + begin, size, 5) ==
                 crc32c_portable(random.data() + begin, size, 5));
    }
  }
}

BOOST_AUTO_TEST_CASE(a_checkpoint_round_trips_exactly) {
  TemporaryFolder folder;
  const std::string path = folder / "net.weft";
  Graph g;
  const std::vector<Program> programs = sample(g);
  write_checkpoint(path, programs, value_of, kAttachments);
  BOOST_TEST(folder.files() == 1u);
  BOOST_TEST(is_weft_file(path));
  verify_file(path);
  for (const auto mode : {LoadOptions::Mode::map, LoadOptions::Mode::copy}) {
    const Checkpoint c = load_checkpoint(path, {.mode = mode});
    TextConstants constants, expected_constants;
    for (const Program& p : programs) {
      BOOST_TEST(difference(p, c.program(p.name())) == "");
      BOOST_TEST(to_text(c.program(p.name()), {.constants = &constants}) ==
                 to_text(p, {.constants = &expected_constants}));
      verify_program(c.program(p.name()));
    }
    BOOST_TEST(constants.size() == 1u);
    BOOST_TEST(bitwise_equal(constants.at("c0"), expected_constants.at("c0")));
    BOOST_TEST(c.tensors().size() == 4u);
    for (const Variable& v : g.variables()) {
      if (v.info().kind == VariableKind::cache) continue;
      BOOST_TEST(bitwise_equal(c.tensors().at(v.name()), value_of(v.info())));
      if (v.name() != "empty") {
        BOOST_TEST(reinterpret_cast<std::uintptr_t>(c.tensors().at(v.name()).raw()) % 64 == 0u);
      }
    }
    BOOST_TEST((c.graph().find_variable("tied") == c.graph().find_variable("gain")));
    BOOST_TEST(c.attachment("vocabulary").bytes == kAttachments.attachments[0].bytes);
    BOOST_TEST(c.attachment("vocabulary").type == "test.words");
    BOOST_TEST(c.attachment("nothing").bytes.empty());
    const Value hidden = c.graph().find_named("hidden");
    BOOST_TEST(c.graph().scope_of(hidden.node()) == "net.block");
    BOOST_TEST(c.graph().where(hidden.node()).find("checkpoint_test.cc:") != std::string::npos);
    BOOST_CHECK_EXCEPTION(c.program("test"), ArgumentError,
                          says("no program 'test'; its programs are: 'train', 'eval'"));
    BOOST_CHECK_EXCEPTION(c.attachment("words"), ArgumentError, says("no attachment 'words'"));
    const auto store = c.store();
    BOOST_TEST(bitwise_equal(store->tensor("gain"), value_of(g.find_variable("gain").info())));
    BOOST_TEST(!store->contains("cache"));
  }
}

// Adds the full names of the fields that are set in a message and its submessages.
void add_fields(const google::protobuf::Message& message, std::set<std::string>& found) {
  const google::protobuf::Reflection& reflection = *message.GetReflection();
  std::vector<const google::protobuf::FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  for (const auto* field : fields) {
    found.insert(field->full_name());
    if (field->message_type() == nullptr) continue;
    if (!field->is_repeated()) {
      add_fields(reflection.GetMessage(message, field), found);
      continue;
    }
    for (int i = 0; i < reflection.FieldSize(message, field); ++i)
      add_fields(reflection.GetRepeatedMessage(message, field, i), found);
  }
}

// The other tests in this file depend on this one: if the sample did not set a field, they would
// not notice that the field is not saved.
BOOST_AUTO_TEST_CASE(the_sample_sets_every_field_of_the_format) {
  const TemporaryFolder folder;
  Graph g;
  write_checkpoint(folder / "a.weft", sample(g), value_of, kAttachments);
  const Container file(folder / "a.weft");
  std::set<std::string> found;
  const auto add = [&]<class Message>(const Record& r, RecordType type, Message message) {
    if (!r.is(type)) return;
    BOOST_REQUIRE(message.ParseFromArray(file.payload(r), static_cast<int>(r.length)));
    add_fields(message, found);
  };
  for (const Record& r : file.records()) {
    add(r, RecordType::header, v1::Header());
    add(r, RecordType::graph, v1::Graph());
    add(r, RecordType::nodes, v1::Nodes());
    add(r, RecordType::programs, v1::Programs());
    add(r, RecordType::variables, v1::Variables());
    add(r, RecordType::attachments, v1::Attachments());
  }
  bool lists_of_reals = false;
  for (const OpRecord* op : builtin_ops()->all()) {
    for (const AttributeSpec& a : op->attributes) {
      lists_of_reals |= std::holds_alternative<std::vector<double>>(a.default_value);
    }
  }
  const google::protobuf::FileDescriptor& format = *v1::Header::descriptor()->file();
  for (int m = 0; m < format.message_type_count(); ++m) {
    const google::protobuf::Descriptor& message = *format.message_type(m);
    // Index is part of the container, no built-in op has a list of reals, and shards are tested
    // in sharded_checkpoint_test.cc.
    if (message.name().starts_with("Index") || message.name().starts_with("Shard") ||
        message.name() == "Piece")
      continue;
    for (int f = 0; f < message.field_count(); ++f) {
      const std::string& name = message.field(f)->full_name();
      const bool reals = name == "weft.v1.Attribute.reals" || name == "weft.v1.Reals.values";
      const bool shards = name == "weft.v1.Variable.pieces";
      BOOST_TEST((found.contains(name) || (reals && !lists_of_reals) || shards), name);
    }
  }
}

BOOST_AUTO_TEST_CASE(saving_a_loaded_checkpoint_gives_the_same_bytes) {
  TemporaryFolder folder;
  Graph g;
  write_checkpoint(folder / "a.weft", sample(g), value_of, kAttachments);
  const Checkpoint c = load_checkpoint(folder / "a.weft");
  const auto value = [&](const VariableInfo& v) { return c.tensors().at(v.name); };
  write_checkpoint(folder / "b.weft", c.programs(), value, {.attachments = c.attachments()});
  const std::string first = read_file(folder / "a.weft");
  BOOST_TEST((first == read_file(folder / "b.weft")));
  // Overwrites the file that is mapped and being read.
  write_checkpoint(folder / "a.weft", c.programs(), value, {.attachments = c.attachments()});
  BOOST_TEST((first == read_file(folder / "a.weft")));
  BOOST_TEST(bitwise_equal(c.tensors().at("gain"), value_of(g.find_variable("gain").info())));
}

BOOST_AUTO_TEST_CASE(a_failed_save_keeps_the_old_file) {
  TemporaryFolder folder;
  const std::string path = folder / "net.weft";
  Graph g, other;
  const std::vector<Program> programs = sample(g);
  write_checkpoint(path, programs, value_of);
  const std::string before = read_file(path);
  const auto throws = [](const VariableInfo&) -> Tensor { throw DataError("no value today"); };
  BOOST_CHECK_EXCEPTION(write_checkpoint(path, programs, throws), DataError, says("today"));
  BOOST_CHECK_EXCEPTION(
      write_checkpoint(path, programs, [](const VariableInfo&) { return Tensor(); }), GraphError,
      says("variable 'gain' has no value yet"));
  BOOST_CHECK_EXCEPTION(
      write_checkpoint(path, programs,
                       [](const VariableInfo&) { return Tensor::zeros(DType::f32, {9}); }),
      ShapeError, says("variable 'gain' is f32[4], but its value is f32[9]"));
  BOOST_CHECK_EXCEPTION(
      write_checkpoint(path, programs,
                       [](const VariableInfo&) { return Tensor::zeros(DType::f64, {4}); }),
      DTypeError, says("variable 'gain' is f32[4], but its value is f64[4]"));
  BOOST_CHECK_EXCEPTION(write_checkpoint(path, {}, value_of), GraphError,
                        says("no program to save"));
  BOOST_CHECK_EXCEPTION(write_checkpoint(path, {programs[0], programs[0]}, value_of), GraphError,
                        says("two programs called 'train'"));
  BOOST_CHECK_EXCEPTION(
      write_checkpoint(path, {programs[0], Program("b").output("x", other.scalar(DType::f32, 1))},
                       value_of),
      GraphError, says("program 'b' uses a different graph from 'train'"));
  BOOST_CHECK_EXCEPTION(
      write_checkpoint(path, programs, value_of, {.attachments = {{"a", "", ""}, {"a", "", ""}}}),
      ArgumentError, says("two attachments called 'a'"));
  BOOST_CHECK_EXCEPTION(
      write_checkpoint(path, programs, value_of, {.attachments = {{"\xff", "", ""}}}),
      ArgumentError, says("not valid UTF-8"));
  BOOST_TEST((read_file(path) == before));
  BOOST_TEST(folder.files() == 1u);
  BOOST_CHECK_EXCEPTION(write_checkpoint(folder / "none/net.weft", programs, value_of), IoError,
                        says("No such file or directory"));
  VariableStore store;
  BOOST_CHECK_EXCEPTION(save_checkpoint(path, store, programs), StateError,
                        says("lacks variables of the graph: 'gain', 'frozen', 'empty', 'dropout'"));
}

BOOST_AUTO_TEST_CASE(truncated_files_are_rejected) {
  TemporaryFolder folder;
  Graph g;
  write_checkpoint(folder / "a.weft", sample(g), value_of, kAttachments);
  const std::string bytes = read_file(folder / "a.weft");
  std::vector<std::size_t> cuts = {0, 1, 8, 47, 48, 63, bytes.size() - 1};
  const Container whole(folder / "a.weft");
  for (const Record& r : whole.records()) {
    for (const std::uint64_t at : {r.offset - 16, r.offset - 8, r.offset, r.offset + r.length}) {
      cuts.push_back(at);
    }
  }
  for (std::size_t at = 0; at < bytes.size(); at += 64) cuts.push_back(at);
  for (const std::size_t cut : cuts) {
    if (cut >= bytes.size()) continue;
    write_file(folder / "b.weft", bytes.substr(0, cut));
    BOOST_CHECK_EXCEPTION(load_checkpoint(folder / "b.weft"), FormatError, says("at byte "));
  }
  write_file(folder / "b.weft", bytes + '\0');
  BOOST_CHECK_EXCEPTION(load_checkpoint(folder / "b.weft"), FormatError, says("at byte "));
  BOOST_CHECK_EXCEPTION(load_checkpoint(folder / "none.weft"), IoError, says("none.weft"));
}

BOOST_AUTO_TEST_CASE(flipped_bits_are_detected) {
  TemporaryFolder folder;
  Graph g;
  write_checkpoint(folder / "a.weft", sample(g), value_of, kAttachments);
  std::string bytes = read_file(folder / "a.weft");
  std::mt19937 random(3);
  // Test every byte at the beginning and at the end of the file, and a sample of the other bytes.
  for (std::size_t at = 0; at < bytes.size();
       at += at < 300 || at + 300 > bytes.size() ? 1 : 1 + random() % 60) {
    const char old = bytes[at];
    bytes[at] = static_cast<char>(old ^ (1 << (random() % 8)));
    write_file(folder / "b.weft", bytes);
    BOOST_CHECK_EXCEPTION(verify_file(folder / "b.weft"), FormatError, says("at byte "));
    bytes[at] = old;
  }
}

BOOST_AUTO_TEST_CASE(attachments_cannot_have_more_bytes_than_the_file) {
  const TemporaryFolder folder;
  Graph g;
  write_checkpoint(folder / "a.weft", sample(g), value_of,
                   {.attachments = {{"a", "text", std::string(100'000, 'a')}}});
  const Container good(folder / "a.weft");
  {
    ContainerWriter writer(folder / "b.weft");
    for (const Record& r : good.records()) {
      std::string payload(reinterpret_cast<const char*>(good.payload(r)), r.length);
      if (r.is(RecordType::attachments)) {
        v1::Attachments all;
        BOOST_REQUIRE(all.ParseFromString(payload));
        for (int i = 0; i < 1000; ++i) *all.add_attachments() = all.attachments(0);
        payload = all.SerializeAsString();
      }
      writer.add(static_cast<RecordType>(r.type), payload);
    }
    writer.finish();
  }
  BOOST_CHECK_EXCEPTION(load_checkpoint(folder / "b.weft"), FormatError,
                        says("the attachments are larger than the file"));
}

BOOST_AUTO_TEST_CASE(arbitrary_messages_are_loaded_or_rejected) {
  // Files with valid checksums but arbitrary content must load or throw FormatError.
  TemporaryFolder folder;
  Graph g;
  write_checkpoint(folder / "a.weft", sample(g), value_of, kAttachments);
  const Container good(folder / "a.weft");
  std::mt19937 random(5);
  int rejected = 0;
  for (int round = 0; round < 600; ++round) {
    {
      ContainerWriter writer(folder / "b.weft");
      const std::size_t victim = random() % good.records().size();
      for (std::size_t i = 0; i < good.records().size(); ++i) {
        const Record& r = good.records()[i];
        std::string payload(reinterpret_cast<const char*>(good.payload(r)), r.length);
        if (i == victim && !payload.empty()) {
          for (std::size_t edits = 1 + random() % 4; edits > 0; --edits) {
            payload[random() % payload.size()] = static_cast<char>(random());
          }
          if (random() % 8 == 0) payload.resize(random() % (payload.size() + 1));
        }
        writer.add(static_cast<RecordType>(r.type), payload);
      }
      writer.finish();
    }
    try {
      load_checkpoint(folder / "b.weft", {.verify = true});
    } catch (const FormatError& e) {
      ++rejected;
      says("at byte ")(e);
    }
  }
  BOOST_TEST(rejected > 100);
}

BOOST_AUTO_TEST_CASE(errors_name_unknown_ops) {
  TemporaryFolder folder;
  auto more = std::make_shared<OpSet>(*builtin_ops());
  OpRecord mine = builtin_ops()->at("sum");
  mine.version = 7;
  more->add(mine);
  mine.name = "my_sum";
  more->add(mine);
  for (const std::string name : {"sum", "my_sum"}) {
    Graph g(more);
    const Value x = g.input("x", DType::f32, {"n"});
    const Value y =
        g.apply(name, {x}, {{"axes", std::vector<std::int64_t>{0}}, {"keepdims", false}}).output(0);
    write_checkpoint(folder / "a.weft", {Program("p").output("y", y)}, value_of);
    BOOST_TEST(load_checkpoint(folder / "a.weft", {.ops = more}).program("p").outputs().size() ==
               1u);
    BOOST_CHECK_EXCEPTION(
        load_checkpoint(folder / "a.weft"), FormatError,
        says("this program does not know op '" + name + "' version 7" +
             (name == "sum" ? " (the newest known version is 1)"
                            : "; pass an OpSet that contains it in LoadOptions::ops")));
  }
}

BOOST_AUTO_TEST_CASE(overflowing_sizes_are_rejected) {
  TemporaryFolder folder;
  Graph g;
  write_checkpoint(folder / "a.weft", sample(g), value_of);
  std::string bytes = read_file(folder / "a.weft");
  for (const std::uint64_t length : {~std::uint64_t{0}, ~std::uint64_t{0} - 15,
                                     std::uint64_t{1} << 63, std::uint64_t{bytes.size()}}) {
    std::string bad = bytes;
    std::memcpy(bad.data() + 48 + 8, &length, 8);
    write_file(folder / "b.weft", bad);
    BOOST_CHECK_EXCEPTION(load_checkpoint(folder / "b.weft"), FormatError,
                          says("at byte 48: a HEAD record declares"));
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft
