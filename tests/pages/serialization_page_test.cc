// Code blocks in docs/checkpoints.md.
#include <boost/test/unit_test.hpp>
#include <cstdio>
#include <string>

#include "weft/autodiff/optimizers/optimizers.h"
#include "weft/core/error.h"
#include "weft/core/random_tensors.h"
#include "weft/graph/functions.h"
#include "weft/graph/ir/scope.h"
#include "weft/graph/run/session.h"
#include "weft/models/layers.h"
#include "weft/serialization/checkpoint.h"
#include "weft/serialization/load_parameters.h"
#include "weft/serialization/safetensors.h"
#include "weft/testing/run_checks.h"
#include "weft/testing/temporary_folder.h"

namespace {

using namespace weft;

struct SavedTraining {
  Graph g;
  Scope net = Scope(g, "net");
  Value x = g.input("x", DType::f32, {"batch", 16});
  Value y = linear(net / "out", dropout(x, 0.1, g.key("dropout")), 4);
  Value loss = mean(square(y));
  Program train = Program("train").output("loss", loss).update(adamw(loss, g.parameters()));
  Program predict = Program("predict").output("y", linear(x, g.find_variable("net.out.weight")));
  testing::TemporaryFolder folder;
  std::string path = folder.path("run.weft");
  Tensor batch = normal_tensor({8, 16}, 1);
};

BOOST_FIXTURE_TEST_SUITE(serialization_page, SavedTraining)

BOOST_AUTO_TEST_CASE(a_training_run_can_be_resumed) {
  Session session(g, {.seed = 1});
  session.run(train, {{"x", batch}});
  save_checkpoint(path, session, {train, predict},
                  {.attachments = {{"notes", "text/plain", "after one step"}}});

  const Checkpoint file = load_checkpoint(path);  // in another process, without the code above
  Session resumed(file.graph(), file.store());
  const Tensor loss_there = resumed.run(file.program("train"), {{"x", batch}})["loss"];
  const Tensor loss_here = session.run(train, {{"x", batch}})["loss"];
  BOOST_TEST(bitwise_equal(loss_there, loss_here));
  BOOST_TEST(file.attachment("notes").bytes == "after one step");
}

BOOST_AUTO_TEST_CASE(a_file_contains_only_the_variables_that_its_programs_need) {
  Session session(g, {.seed = 1});
  session.run(train, {{"x", batch}});
  save_checkpoint(path, session, {predict});  // no optimizer state, no random keys
  BOOST_TEST(load_checkpoint(path).tensors().size() == 1u);
}

BOOST_AUTO_TEST_CASE(an_inference_file_can_be_extracted_from_a_training_file) {
  Session session(g, {.seed = 1});
  const std::string small = folder.path("small.weft");
  save_checkpoint(path, session, {train, predict}, {.attachments = {{"notes", "text/plain", ""}}});
  extract_checkpoint(path, small, {"predict"}, {"notes"});  // keeps only the listed attachments
  const Checkpoint part = load_checkpoint(path, {.programs = {"predict"}});  // or without a file
  BOOST_TEST(part.tensors().size() == 1u);
  BOOST_TEST(load_checkpoint(small).tensors().size() == 1u);
}

BOOST_AUTO_TEST_CASE(weights_can_be_loaded_into_another_model) {
  const std::string weights = folder.path("weights.safetensors");
  write_safetensors(weights, {{"body.weight", normal_tensor({4, 16}, 1)},
                              {"head.bias", Tensor::zeros(DType::f32, {2})}});

  Session session(g, {.seed = 1});
  const LoadReport report =
      load_parameters(session, weights,
                      {.rename = {{"body.", "net.out."}},  // name in the file, name in the graph
                       .allow_missing = {"net.out.bias"},  // starts from its initialiser
                       .allow_unexpected = {"head.*"}});   // ignored
  std::printf("%s\n", report.str().c_str());
  BOOST_TEST(report.str() == "1 parameters loaded; 1 new: net.out.bias; 1 not used: head.bias");
  session.run(predict, {{"x", batch}});
  BOOST_TEST(
      bitwise_equal(session.value("net.out.weight"), read_tensors(weights).at("body.weight")));
}

BOOST_AUTO_TEST_CASE(files_can_be_verified) {
  Session session(g, {.seed = 1});
  save_checkpoint(path, session, {predict});
  verify_file(path);  // every checksum; FormatError with the byte offset of the first damage
  for (const SavedVariable& variable : saved_variables(path))  // also with unknown operations
    std::printf("%s %s\n", variable.name.c_str(), variable.type.c_str());
  BOOST_TEST(saved_variables(path).at(0).type == "f32[4, 16]");
  BOOST_TEST(testing::check_resume(g, train, {.feeds = {{"x", batch}}}));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
