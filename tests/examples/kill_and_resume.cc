// A training run is killed and then resumed bit-exactly by code that does not define its model.
// After that, another model is initialised with some of its weights.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <string>

#include "weft/autodiff/optimizers/optimizers.h"
#include "weft/core/random_tensors.h"
#include "weft/graph/functions.h"
#include "weft/graph/run/session.h"
#include "weft/models/layers.h"
#include "weft/serialization/checkpoint.h"
#include "weft/serialization/load_parameters.h"

using namespace weft;

constexpr int kSteps = 400;

/// The run uses dropout, AdamW and a schedule. Random keys, moments and the step number are
/// variables and are saved.
void begin_training(const std::string& path) {
  Graph g;
  const Scope net(g, "net");
  const Value x = g.input("x", DType::f32, {"batch", 8});
  const Value h = dropout(tanh(linear(net / "encoder", x, 64)), 0.1, g.key("dropout"));
  const Value wanted = prod(slice(x, 1, {.begin = 0, .end = 2}), {1}, true);
  const Value loss = mse(linear(net / "head", h, 1), wanted);
  const Program train =
      Program("train").update(adamw(loss, g.parameters(), {.lr = warmup_cosine(0.01, 20, kSteps)}));
  Session session(g, {.seed = 1});
  save_checkpoint(path, session, {train});
}

/// Runs the remaining steps and saves after every fifth step. Needs only the file.
void resume_training(const std::string& path) {
  const Checkpoint file = load_checkpoint(path);
  Session session(file.graph(), file.store());
  const auto done = file.tensors().at("optimizer.step").item<std::int64_t>();
  std::printf("%s continues after %d steps\n", path.c_str(), static_cast<int>(done));
  for (auto step = static_cast<std::uint64_t>(done); step < kSteps; ++step) {
    // The batch is a function of the step number, so no data position has to be saved.
    session.run(file.program("train"), {{"x", normal_tensor({32, 8}, step)}});
    if (step % 5 == 4) save_checkpoint(path, session, file.programs());
  }
}

int main() {
  std::remove("killed.weft");
  const pid_t child = fork();
  if (child == 0) {
    begin_training("killed.weft");
    resume_training("killed.weft");
    return 0;
  }
  while (access("killed.weft", R_OK) != 0) usleep(1000);
  usleep(50'000);
  kill(child, SIGKILL);
  int status = 0;
  waitpid(child, &status, 0);
  resume_training("killed.weft");
  begin_training("whole.weft");
  resume_training("whole.weft");
  const Checkpoint killed = load_checkpoint("killed.weft"), whole = load_checkpoint("whole.weft");
  bool same = WIFSIGNALED(status);
  for (const auto& [name, tensor] : whole.tensors())
    same = same && bitwise_equal(tensor, killed.tensors().at(name));
  std::printf("the killed run is bit-identical to an uninterrupted one: %s\n", same ? "yes" : "no");

  // The new model uses the encoder under a different name, followed by a new head.
  Graph g;
  const Value x = g.input("x", DType::f32, {"batch", 8});
  linear(Scope(g, "classes"), tanh(linear(Scope(g, "body"), x, 64)), 3);
  Session session(g, {.seed = 2});
  const LoadReport report = load_parameters(session, "whole.weft",
                                            {.rename = {{"net.encoder.", "body."}},
                                             .allow_missing = {"classes.*"},
                                             .allow_unexpected = {"net.head.*"}});
  std::printf("%s\n", report.str().c_str());
  const bool taken =
      bitwise_equal(session.value("body.weight"), whole.tensors().at("net.encoder.weight"));
  return same && taken ? 0 : 1;
}
