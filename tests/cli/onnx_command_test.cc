// weft convert, run, inspect and train with ONNX files and NumPy archives.
#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <string>

#include "weft/serialization/npy.h"
#include "weft/serialization/onnx/onnx.h"
#include "weft/serialization/safetensors.h"
#include "weft/tests/support/program_shell.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(onnx_command)
namespace {

const std::string kNetworks = std::string(WEFT_FIXTURES) + "/onnx/";
const std::string kFiles = std::string(WEFT_FIXTURES) + "/weft_files/";

void check_close(const Tensor& a, const Tensor& b) {
  BOOST_REQUIRE(a.sizes() == b.sizes());
  for (std::int64_t i = 0; i < a.numel(); ++i)
    BOOST_REQUIRE(std::abs(a.at(i) - b.at(i)) < 1e-5 * (1 + std::abs(b.at(i))));
}

BOOST_AUTO_TEST_CASE(onnx_files_are_run_converted_and_described) {
  const Shell weft;
  const std::string model = kNetworks + "residual.onnx", inputs = kNetworks + "residual.npz";
  const Tensor expected = read_npz(inputs).at("logits");
  // The archive also contains the outputs and gradients, which are not inputs.
  write_npz(weft.path("in.npz"), {{"image", read_npz(inputs).at("image")}});
  const std::string io =
      " --inputs " + weft.path("in.npz") + " --outputs " + weft.path("out.npz") + " --force";
  const auto result = [&](const std::string& path) {
    const Outcome outcome = weft("run " + path + io);
    BOOST_TEST_REQUIRE(outcome.code == 0, outcome.err);
    return read_npz(weft.path("out.npz")).at("logits");
  };
  check_close(result(model), expected);

  for (const std::string name : {"a.weft", "b.onnx", "c.onnx"}) {
    const std::string from = name == "c.onnx" ? weft.path("b.onnx") : model;
    const Outcome outcome = weft("convert " + from + " --out " + weft.path(name) +
                                 (name == "c.onnx" ? " --opset 21" : ""));
    BOOST_TEST_REQUIRE(outcome.code == 0, outcome.err);
    check_close(result(weft.path(name)), expected);
  }
  BOOST_TEST(read_onnx(weft.path("b.onnx")).opset == 17);
  BOOST_TEST(read_onnx(weft.path("c.onnx")).opset == 21);

  const std::string text = weft("inspect " + model + " --size batch=4").out;
  for (const char* part : {"opset 13", "written by pytorch 1.13", "image: f32[batch, 1, 4, 4]",
                           "4 x Conv", "for batch=4"})
    BOOST_TEST(contains(text, part), text);
  BOOST_TEST(contains(weft("inspect " + model + " --variables").out, "fc.weight"));
  BOOST_TEST(contains(weft("inspect " + model + " --graph").out, "conv2d"));
}

BOOST_AUTO_TEST_CASE(weights_are_converted_between_files_of_tensors) {
  const Shell weft;
  const std::string model = kNetworks + "residual.onnx";
  const auto convert = [&](const std::string& from, const std::string& to) {
    const Outcome outcome = weft("convert " + from + " --out " + weft.path(to));
    BOOST_TEST_REQUIRE(outcome.code == 0, outcome.err);
    return weft.path(to);
  };
  const std::string npz = convert(model, "w.npz"), tensors = convert(npz, "w.safetensors");
  const TensorMap weights = read_onnx(model).checkpoint.tensors();
  BOOST_TEST(read_npz(npz).size() == weights.size());
  const Safetensors same = read_safetensors(tensors);
  for (const auto& [name, tensor] : same.tensors)
    BOOST_TEST(bitwise_equal(tensor, weights.at(name)));
  BOOST_TEST(
      read_npz(convert(kFiles + "encoder-mlm.weft", "e.npz")).contains("embeddings.tokens.weight"));
}

BOOST_AUTO_TEST_CASE(models_keep_their_parts_in_onnx_files) {
  const Shell weft;
  const std::string onnx = weft.path("mlm.onnx"), from = kFiles + "encoder-mlm.weft";
  const Outcome outcome = weft("convert " + from + " --out " + onnx);
  BOOST_TEST_REQUIRE(outcome.code == 0, outcome.err);
  BOOST_TEST(read_onnx(onnx).checkpoint.find_attachment("model.tokenizer") != nullptr);
  const auto train = [&](const std::string& path, const std::string& out) {
    return weft("train encoder --task classify --data " + kFiles + "data/films.tsv --steps 2 " +
                "--batch 4 --threads 1 --from " + path + " --out " + weft.path(out));
  };
  BOOST_TEST_REQUIRE(train(from, "a.weft").code == 0);
  const Outcome second = train(onnx, "b.weft");
  BOOST_TEST_REQUIRE(second.code == 0, second.err);
  // The weights are the same, so training is, too.
  const TensorMap a = load_checkpoint(weft.path("a.weft")).tensors(),
                  b = load_checkpoint(weft.path("b.weft")).tensors();
  for (const auto& [name, tensor] : b) BOOST_TEST(bitwise_equal(tensor, a.at(name)), name);
}

BOOST_AUTO_TEST_CASE(networks_of_onnx_files_are_fine_tuned) {
  const Shell weft;
  const std::string tuned = weft.path("tuned.weft"),
                    options = " --data " + kFiles + "data --steps 3 --batch 4 --threads 1 --out ";
  const std::string model = kNetworks + "residual.onnx";
  const Outcome outcome =
      weft("train network --from " + model + options + tuned + " --pixels none --freeze 'stem.*'");
  BOOST_TEST_REQUIRE(outcome.code == 0, outcome.err);
  BOOST_TEST(contains(outcome.out, "network from a file: images of 1 x 4 x 4, 8 features"),
             outcome.out);
  BOOST_TEST(weft("evaluate " + tuned + " --data " + kFiles + "data").code == 0);
  BOOST_TEST(weft("convert " + tuned + " --out " + weft.path("tuned.onnx")).code == 0);
  const auto rejects = [&](const std::string& arguments, int code, const std::string& message) {
    check_error(weft("train " + arguments + options + weft.path("x.weft")), code, message);
  };
  rejects("network", 2, "give --from MODEL.onnx");
  rejects("network --from " + model + " --pixels imagenet", 2, "for images with 3 channels, not 1");
  rejects("network --from " + model + " --features nothing", 1, "nothing");
  rejects("vit --from " + model, 1, "fine-tune it with weft train network");
  rejects("network --from " + kNetworks + "encoder.onnx", 1, "an image network has one input f32");
}

BOOST_AUTO_TEST_CASE(errors_name_the_option_and_the_remedy) {
  const Shell weft;
  const std::string model = kNetworks + "residual.onnx", npz = kNetworks + "residual.npz",
                    file = kFiles + "encoder-mlm.weft";
  const auto convert = [&](const std::string& arguments, const std::string& message) {
    check_error(weft("convert " + arguments), 2, message);
  };
  convert(npz + " --out " + weft.path("a.weft"), "contains tensors but no graph");
  convert(model + " --out " + weft.path("folder/"), "can be converted to .weft, .onnx");
  convert(model + " --out " + weft.path("a.weft") + " --inference", "--inference is for models");
  convert(file + " --out " + weft.path("a.npz") + " --opset 17", "--opset is for ONNX files");
  convert(file + " --out " + weft.path("a.onnx") + " --outtype f32", "--outtype is for GGUF");
  check_error(weft("convert " + file + " --out " + weft.path("a.onnx") + " --program x"), 1,
              "program 'x'");
  check_error(weft("inspect " + model + " --size rows=2"), 2, "no input has an axis of this name");
  check_error(weft("inspect " + model + " --size bat=2"), 2, "no input has an axis of this name");
  check_error(weft("inspect " + model + " --size batch"), 2, "NAME=NUMBER expected");
  check_error(weft("inspect " + file + " --size batch=2"), 2, "--size is for ONNX files");
  check_error(weft("inspect " + model + " --programs"), 2, "is an ONNX file");
  const std::string io = " --inputs " + npz + " --outputs " + weft.path("o.npz");
  check_error(weft("run " + model + io + " --program predict"), 2, "--program is for .weft files");
  write_npz(weft.path("in.npz"), {{"image", Tensor::zeros(DType::f32, {3, 1, 4, 4})}});
  check_error(weft("run " + model + " --inputs " + weft.path("in.npz") + " --outputs " +
                   weft.path("o.npz") + " --max-memory 1KiB"),
              2, "exceeds --max-memory 1");
  check_error(weft("classify " + model + " a.png"), 1, "an ONNX model: run it with weft run");
}

}  // namespace
BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
