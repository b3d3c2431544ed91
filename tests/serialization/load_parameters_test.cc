// Loading weights from files into models: all or some of the weights, under other names, and with
// errors that list every mismatch.
#include "weft/serialization/load_parameters.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <csignal>
#include <filesystem>

#include "weft/core/error.h"
#include "weft/graph/functions.h"
#include "weft/graph/ir/scope.h"
#include "weft/serialization/rename.h"
#include "weft/serialization/safetensors.h"
#include "weft/tests/serialization/file_bytes.h"
#include "weft/tests/support/messages.h"

namespace weft {
namespace {

using testing::message_contains;
using testing::says;
using testing::TemporaryFolder;
using testing::write_file;

using Names = std::vector<std::string>;

Tensor filled(Sizes sizes, double value, DType dtype = DType::f32) {
  return Tensor::full(dtype, sizes, value);
}

/// A network with the variables encoder.0 and encoder.1 (weight [2, 3] and bias [3] each) and
/// head.weight [3].
struct Net {
  Graph graph;
  Program predict{"predict"};

  Net() {
    const Scope net(graph);
    Value h = graph.input("x", DType::f32, {"batch", 2});
    for (int i = 0; i < 2; ++i) {
      const Scope layer = net / "encoder" / i;
      const auto normal = Initializer::normal(1);
      Value w = layer.variable("weight", DType::f32, {2, 3}, {.initializer = normal});
      Value b = layer.variable("bias", DType::f32, {3});
      h = slice(matmul(h, w) + b, 1, {.begin = 0, .end = 2});
    }
    Value head = (net / "head").variable("weight", DType::f32, {2});
    predict.output("y", sum(h * head, {1}));
  }
};

TensorMap encoder_tensors(const std::string& prefix) {
  return {{prefix + "0.weight", filled({2, 3}, 1)},
          {prefix + "0.bias", filled({3}, 2)},
          {prefix + "1.weight", filled({2, 3}, 3)},
          {prefix + "1.bias", filled({3}, 4)}};
}

BOOST_AUTO_TEST_SUITE(load_parameters_of_files)

BOOST_AUTO_TEST_CASE(one_error_lists_all_mismatches) {
  Graph g;
  const Variable a = g.variable("a", DType::f32, {2, 3});
  g.alias("b", a);
  g.variable("c", DType::f32, {2});
  g.variable("d", DType::f32, {2});
  g.variable("e", DType::f32, {4});
  const TensorMap tensors = {{"b", filled({2, 3}, 0)},
                             {"c", filled({2}, 0, DType::f64)},
                             {"e", filled({5}, 0)},
                             {"f", Tensor::zeros(DType::u8, {})}};
  BOOST_CHECK_EXCEPTION(
      match_variables(g.variables(), tensors, "\"x.weft\""), FormatError,
      says("the tensors of \"x.weft\" do not match the variables:"
           "\n  mismatched: 'c' is f64[2], but the variable is f32[2] (.convert = true converts it)"
           "\n  mismatched: 'e' is f32[5], but the variable is f32[4]"
           "\n  missing: 'd' f32[2]"
           "\n  unexpected: 'f' u8[]"));
  const auto pairs = match_variables({a}, tensors, "x", {.allow_unexpected = {"*"}}).pairs;
  BOOST_TEST(pairs.size() == 1u);
  BOOST_TEST((pairs[0].first == a));
  const Variable d = g.find_variable("d");
  BOOST_TEST(match_variables({d}, {}, "x", {.allow_missing = {"d"}}).pairs.empty());
  // Reinitialised variables need no tensor.
  BOOST_TEST(match_variables({d}, {}, "x", {.reinit = {"d"}}).pairs.empty());
  // Names from another library, narrower floats, and variables to be reinitialised.
  const TensorMap other_names = {{"x.a", filled({2, 3}, 0.5, DType::bf16)},
                                 {"x.c", filled({3}, 0, DType::f64)},
                                 {"x.more", Tensor::zeros(DType::u8, {})}};
  const Match match =
      find_matches(g.variables(), other_names,
                   {.reinit = {"c"},
                    .allow_missing = {"*"},
                    .allow_unexpected = {"x.m*"},
                    .convert = true,
                    .file_name = [](const std::string& name) { return "x." + name; }});
  BOOST_TEST(match.problems.empty());
  BOOST_REQUIRE(match.pairs.size() == 1u);
  BOOST_TEST((match.pairs[0].second.dtype() == DType::f32));
  BOOST_TEST((match.report.loaded == Names{"a"}));
  BOOST_TEST((match.report.converted == Names{"a"}));
  BOOST_TEST((match.report.missing == (Names{"d", "e"})));
  BOOST_TEST((match.report.reinitialised == Names{"c"}));
  BOOST_TEST((match.report.unexpected == Names{"x.more"}));
  BOOST_TEST(
      match.report.str() ==
      "1 parameters loaded (1 converted from another dtype); 3 new: d, e, c; 1 not used: x.more");
  // The tensors may include all names of a variable if their values are equal.
  const Tensor whole = filled({2, 3}, 1);
  BOOST_TEST(match_variables({a}, {{"a", whole}, {"b", whole.clone()}}, "x").pairs.size() == 1u);
  BOOST_CHECK_EXCEPTION(
      match_variables({a}, {{"a", filled({2, 3}, 0)}, {"b", whole}}, "x"), FormatError,
      says("conflict: 'a' and 'b' are the same variable, but their values differ"));
  // A second tensor that shares memory with a matched one is not reported as unexpected.
  BOOST_TEST(match_variables({a}, {{"a", whole}, {"tied", whole}}, "x").pairs.size() == 1u);
}

BOOST_AUTO_TEST_CASE(rename_rules_match_prefixes_and_wildcards) {
  const RenameRules rules = {{"bert.encoder.layer.*.output.*", "layers.*.out.*"},
                             {"bert.", "encoder."},
                             {"lm_head.weight", "head.weight"},
                             {"*.gamma", "*.weight"}};
  BOOST_TEST(renamed(rules, "bert.encoder.layer.11.output.dense.bias") ==
             "layers.11.out.dense.bias");
  BOOST_TEST(renamed(rules, "bert.pooler.bias") == "encoder.pooler.bias");
  BOOST_TEST(renamed(rules, "lm_head.weight") == "head.weight");
  BOOST_TEST(renamed(rules, "norm.gamma") == "norm.weight");
  BOOST_TEST(renamed(rules, "other.beta") == "other.beta");
  BOOST_TEST(renamed({{"", "net."}}, "a.b") == "net.a.b");
  BOOST_TEST(renamed({{"a*b*c", "*-*"}}, "a1b2bc") == "1-2b");
  BOOST_TEST(renamed({{"a*b*c", "*"}}, "abbc") == "");
  BOOST_TEST(renamed({{"a*c", "x"}}, "a") == "a");
  BOOST_CHECK_EXCEPTION(renamed({{"a.*", "*.*"}}, "a.b"), ArgumentError,
                        says("rename {\"a.*\", \"*.*\"}: the new name has 2 stars, but the old "
                             "name has 1: each star of the new name needs a star of the old name"));
  const TensorMap tensors = {{"a.x", filled({1}, 0)}, {"b.x", filled({1}, 0)}};
  BOOST_CHECK_EXCEPTION(
      renamed({{"c.", "d."}}, tensors), ArgumentError,
      says("rename {\"c.\", \"d.\"} matches no tensor; the tensors are: a.x, b.x"));
  BOOST_CHECK_EXCEPTION(renamed({{"a.", "b."}}, tensors), ArgumentError,
                        says("rename: both 'a.x' and 'b.x' would be renamed to 'b.x'"));
}

BOOST_AUTO_TEST_CASE(one_call_loads_some_weights_under_other_names) {
  const TemporaryFolder folder;
  Net net;
  TensorMap tensors = encoder_tensors("bert.layer.");
  tensors["cls.bias"] = filled({7}, 9);
  write_safetensors(folder / "bert.safetensors", tensors);
  Session session(net.graph, {.seed = 1});
  const LoadReport report = load_parameters(session, folder / "bert.safetensors",
                                            {.rename = {{"bert.layer.", "encoder."}},
                                             .allow_missing = {"head.*"},
                                             .allow_unexpected = {"cls.*"}});
  BOOST_TEST(report.str() == "4 parameters loaded; 1 new: head.weight; 1 not used: cls.bias");
  // Missing variables are initialised; all others have the values from the file.
  const NamedTensors feeds = {{"x", filled({1, 2}, 1)}};
  BOOST_TEST(session.run(net.predict, feeds)["y"].item<float>() == 0.0f);
  BOOST_TEST(bitwise_equal(session.value("encoder.1.weight"), filled({2, 3}, 3)));
  // Loads one layer into the same session, whose variables already have values.
  write_safetensors(folder / "more.safetensors", {{"encoder.1.weight", filled({2, 3}, 5)},
                                                  {"encoder.1.bias", filled({3}, 6)},
                                                  {"encoder.0.weight", filled({1}, 0)}});
  session.set_value("head.weight", filled({2}, 1));
  const Tensor before = session.run(net.predict, feeds)["y"];
  load_parameters(session, folder / "more.safetensors", {.only = {"encoder.1.*"}});
  BOOST_TEST(bitwise_equal(session.value("encoder.1.weight"), filled({2, 3}, 5)));
  BOOST_TEST(bitwise_equal(session.value("encoder.0.weight"), filled({2, 3}, 1)));
  BOOST_TEST(!bitwise_equal(session.run(net.predict, feeds)["y"], before));
}

BOOST_AUTO_TEST_CASE(errors_name_the_file_and_suggest_a_fix) {
  const TemporaryFolder folder;
  Net net;
  Session session(net.graph, {.seed = 1});
  const std::string path = folder / "w.safetensors";
  const auto load = [&](const TensorMap& tensors, const MatchOptions& options = {}) {
    write_safetensors(path, tensors);
    load_parameters(session, path, options);
  };
  // With a different prefix, the message suggests the rename rule that would help.
  TensorMap prefixed = encoder_tensors("bert.layer.");
  prefixed["bert.pooler"] = filled({2}, 0);
  BOOST_CHECK_EXCEPTION(
      load(prefixed), FormatError,
      message_contains(
          {"the tensors of " + path + " do not match the variables:\n  missing: ",
           "missing: 'encoder.0.weight' f32[2, 3]", "missing: 'head.weight' f32[2]",
           "unexpected: 'bert.layer.0.bias' f32[3]",
           "\n  .rename = {{\"bert.layer.\", \"encoder.\"}} would resolve 4 of the 5 missing"}));
  // For a typo, the message suggests the most similar name.
  TensorMap typo = encoder_tensors("encoder.");
  typo["head.wieght"] = filled({2}, 0);
  BOOST_CHECK_EXCEPTION(load(typo), FormatError,
                        message_contains({"missing: 'head.weight' f32[2] (did you mean "
                                          "'head.wieght'?)",
                                          "unexpected: 'head.wieght' f32[2]"}));
  // A different dtype is an error, or is converted if `convert` is set.
  TensorMap bf16_tensors = encoder_tensors("encoder.");
  bf16_tensors["head.weight"] = filled({2}, 0.5, DType::bf16);
  BOOST_CHECK_EXCEPTION(
      load(bf16_tensors), FormatError,
      says("mismatched: 'head.weight' is bf16[2], but the variable is f32[2] (.convert = "
           "true converts it)"));
  BOOST_TEST(!session.store()->contains("encoder.0.weight"));  // a failed load changes no variable
  load(bf16_tensors, {.convert = true});
  BOOST_TEST(bitwise_equal(session.value("head.weight"), filled({2}, 0.5)));
  // If a tensor was renamed, the message also names the variable.
  BOOST_CHECK_EXCEPTION(
      load({{"top.weight", filled({4}, 0)}}, {.rename = {{"top.", "head."}}, .only = {"head.*"}}),
      FormatError,
      says("mismatched: 'top.weight' is f32[4], but the variable 'head.weight' is f32[2]"));
  BOOST_CHECK_EXCEPTION(
      load(bf16_tensors, {.only = {"heat.*"}}), ArgumentError,
      says("only: no variable matches 'heat.*'; the variables are: encoder.0.weight, "));
  BOOST_CHECK_EXCEPTION(
      load({{"z", filled({1}, 0)}}, {.allow_missing = {"*"}, .allow_unexpected = {"*"}}),
      FormatError, says(path + " has no tensor for the variables; it contains z"));
  BOOST_CHECK_EXCEPTION(load_parameters(session, folder / "none.safetensors"), IoError,
                        says("none.safetensors"));
}

BOOST_AUTO_TEST_CASE(tensors_are_read_from_all_types_of_files_and_folders) {
  const TemporaryFolder folder;
  const TensorMap all = encoder_tensors("encoder.");
  const auto same = [&](const TensorMap& got) {
    if (got.size() != all.size()) return false;
    return std::all_of(all.begin(), all.end(), [&](const auto& entry) {
      return got.contains(entry.first) && bitwise_equal(got.at(entry.first), entry.second);
    });
  };
  std::filesystem::create_directory(folder / "whole");
  write_safetensors(folder / "whole/model.safetensors", all);
  BOOST_TEST(same(read_tensors(folder / "whole")));
  BOOST_TEST(same(read_tensors(folder / "whole/model.safetensors")));
  // A folder with sharded files.
  std::filesystem::create_directory(folder / "shards");
  const std::string index = folder / "shards/model.safetensors.index.json";
  TensorMap first = all, second;
  second.insert(first.extract("encoder.1.weight"));
  write_safetensors(folder / "shards/1.safetensors", first);
  write_safetensors(folder / "shards/2.safetensors", second);
  write_file(index, R"({"weight_map": {"encoder.0.weight": "1.safetensors",
                                       "encoder.1.weight": "2.safetensors"}})");
  BOOST_TEST(same(read_tensors(folder / "shards")));
  BOOST_TEST(same(read_tensors(index)));
  write_safetensors(folder / "shards/2.safetensors", all);
  BOOST_CHECK_EXCEPTION(read_tensors(index), FormatError,
                        says("the tensor 'encoder.0.bias' is in two shards"));
  write_file(index, R"({"weight_map": {"a": "../1.safetensors"}})");
  BOOST_CHECK_EXCEPTION(read_tensors(index), FormatError,
                        says("'a' is in \"../1.safetensors\", which is not a file name"));
  write_file(index, "{}");
  BOOST_CHECK_EXCEPTION(read_tensors(index), FormatError, says("has no weight_map"));
  std::filesystem::create_directory(folder / "torch");
  BOOST_CHECK_EXCEPTION(read_tensors(folder / "torch"), IoError,
                        says("contains no model.safetensors"));
  write_file(folder / "torch/pytorch_model.bin", "x");
  BOOST_CHECK_EXCEPTION(read_tensors(folder / "torch"), IoError,
                        says("but only pytorch_model.bin, which is a file of PyTorch weights: "
                             "convert it to model.safetensors"));
}

BOOST_AUTO_TEST_CASE(weights_can_be_read_from_a_weft_file_with_unknown_ops) {
  const TemporaryFolder folder;
  OpRecord mine = builtin_ops()->at("tanh");
  mine.name = "users_own";
  const auto ops = std::make_shared<OpSet>(*builtin_ops());
  ops->add(mine);
  Graph g(ops);
  const Variable w = g.variable("w", DType::f32, {3});
  g.alias("tied", w);
  const Variable mean = g.variable("mean", DType::f32, {2}, {.kind = VariableKind::buffer});
  const Variable moment = g.variable("m", DType::f32, {3}, {.kind = VariableKind::optimizer});
  const Value y = g.apply("users_own", {w}).output(0);
  const Program p = Program("p").output("y", sum(y) + sum(mean)).update(moment, w);
  Session session(g);
  session.set_value("w", filled({3}, 1));
  save_checkpoint(folder / "own.weft", session, {p});
  BOOST_CHECK_THROW(load_checkpoint(folder / "own.weft"), FormatError);
  const TensorMap tensors = read_tensors(folder / "own.weft");
  BOOST_TEST(tensors.size() == 3u);  // w, tied, mean
  BOOST_TEST(tensors.at("tied").raw() == tensors.at("w").raw());

  // Load into a graph without the tied name, and into one where it is a separate variable.
  Graph plain;
  plain.variable("w", DType::f32, {3});
  plain.variable("mean", DType::f32, {2}, {.kind = VariableKind::buffer});
  VariableStore store;
  BOOST_TEST(weight_variables(plain).size() == 2u);
  BOOST_TEST(load_parameters(store, plain, folder / "own.weft").loaded.size() == 2u);
  BOOST_TEST(bitwise_equal(store.tensor("w"), filled({3}, 1)));
  Graph untied;
  untied.variable("w", DType::f32, {3});
  untied.variable("tied", DType::f32, {3});
  untied.variable("mean", DType::f32, {2}, {.kind = VariableKind::buffer});
  VariableStore both;
  BOOST_TEST(load_parameters(both, untied, folder / "own.weft").loaded.size() == 3u);
}

BOOST_AUTO_TEST_CASE(mapped_weights_are_copied_on_first_write) {
  const TemporaryFolder folder;
  Graph g;
  const Variable w = g.variable("w", DType::f32, {1000});
  const Program step = Program("step").update(w, w.value() + 1.0);
  const std::string path = folder / "w.safetensors";
  write_safetensors(path, {{"w", filled({1000}, 1)}});
  Session session(g);
  load_parameters(session, path);
  const Tensor loaded = session.store()->tensor("w");
  BOOST_TEST(!loaded.buffer()->allocated());  // the tensor is a view of the mapped file
  session.run(step);
  session.run(step);
  BOOST_TEST(bitwise_equal(session.value("w"), filled({1000}, 3)));
  BOOST_TEST(bitwise_equal(loaded, filled({1000}, 1)));
  BOOST_TEST(bitwise_equal(read_tensors(path).at("w"), filled({1000}, 1)));
  // The file may be overwritten with tensors that are mapped from it.
  load_parameters(session, path);
  write_safetensors(path, {{"w", session.store()->tensor("w")}});
  load_parameters(session, path);
  BOOST_TEST(bitwise_equal(session.value("w"), filled({1000}, 1)));
}

BOOST_AUTO_TEST_CASE(assigning_several_variables_is_atomic) {
  VariableStore store;
  store.insert("a", VariableKind::parameter, filled({2}, 1));
  const auto values = [](double value, Sizes of_a) {
    return std::vector<VariableStore::NewValue>{
        {"b", VariableKind::parameter, filled({3}, value)},
        {"a", VariableKind::parameter, filled(of_a, value)}};
  };
  BOOST_CHECK_EXCEPTION(store.assign(values(2, {5})), ShapeError,
                        says("variable 'a' is f32[2], but the new value is f32[5]"));
  BOOST_TEST(!store.contains("b"));
  store.assign(values(2, {2}));
  BOOST_TEST(bitwise_equal(store.tensor("a"), filled({2}, 2)));
  BOOST_TEST(bitwise_equal(store.tensor("b"), filled({3}, 2)));
  BOOST_TEST(store.version("a") == 1u);
  BOOST_CHECK_EXCEPTION(store.assign({{"c", VariableKind::parameter, Tensor()}}), ArgumentError,
                        says("variable 'c' was given an undefined tensor"));
}

BOOST_AUTO_TEST_CASE(weights_remain_loadable_after_a_killed_save) {
  const TemporaryFolder folder;
  Graph g;
  const Variable w = g.variable("w", DType::f32, {1 << 20});
  const Program p = Program("p").output("y", sum(w));
  const std::string path = folder / "w.weft";
  const auto value = [](double x) {
    return [x](const VariableInfo&) { return filled({1 << 20}, x); };
  };
  write_checkpoint(path, {p}, value(1));
  for (const int microseconds : {200, 1000, 3000, 6000, 10000}) {
    const pid_t child = fork();
    BOOST_TEST_REQUIRE(child >= 0);
    if (child == 0) {
      try {
        while (true) write_checkpoint(path, {p}, value(2));
      } catch (...) {
        _exit(1);
      }
    }
    usleep(static_cast<useconds_t>(microseconds));
    kill(child, SIGKILL);
    int status = 0;
    waitpid(child, &status, 0);
    BOOST_TEST(WIFSIGNALED(status));
    VariableStore store;
    load_parameters(store, g, path);
    const float first = store.tensor("w").data<float>()[0];
    BOOST_TEST((first == 1 || first == 2));
    BOOST_TEST(bitwise_equal(store.tensor("w"), filled({1 << 20}, first)));
    verify_file(path);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft
