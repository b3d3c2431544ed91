// weft_embed_server MODEL LINES THREADS [TEXTS [REQUESTS]]: embeds the lines of a file through a
// ServedModel, in requests of TEXTS lines (default: 32) of which REQUESTS are in the queue at a
// time (default: 16). The Weft side of compare_embed.py: each line of stdin starts a round, which
// is answered with a line of JSON. If the line is a path, the vectors are written to it as f32.
#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <future>
#include <iostream>
#include <semaphore>
#include <string>
#include <vector>

#include "weft/models/serve/served_model.h"

using namespace weft;

namespace {

std::vector<std::vector<std::string>> read_requests(const char* path, std::size_t texts) {
  std::vector<std::vector<std::string>> requests;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (requests.empty() || requests.back().size() == texts) requests.emplace_back();
    requests.back().push_back(line);
  }
  return requests;
}

/// Sends all requests and returns their results in order.
std::vector<Tensor> round(ServedModel& model, const std::vector<std::vector<std::string>>& requests,
                          int at_once) {
  std::counting_semaphore<> room(at_once);
  std::vector<std::promise<Tensor>> results(requests.size());
  for (std::size_t i = 0; i < requests.size(); ++i) {
    room.acquire();
    model.embed(requests[i], {}, {}, [&, i](EmbeddingResult result, std::exception_ptr error) {
      if (error != nullptr) {
        results[i].set_exception(error);
      } else {
        results[i].set_value(result.vectors);
      }
      room.release();
    });
  }
  std::vector<Tensor> vectors;
  for (auto& result : results) vectors.push_back(result.get_future().get());
  for (int i = 0; i < at_once; ++i) room.acquire();  // all callbacks have returned
  return vectors;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    fmt::print(stderr, "usage: weft_embed_server MODEL LINES THREADS [TEXTS [REQUESTS]]\n");
    return 2;
  }
  const std::size_t texts = argc > 4 ? std::strtoul(argv[4], nullptr, 10) : 32;
  const int at_once = argc > 5 ? std::atoi(argv[5]) : 16;
  const auto requests = read_requests(argv[2], texts);
  ServedModel model("model", argv[1], {.threads = std::atoi(argv[3])});
  round(model, requests, at_once);
  fmt::print("{{}}\n");
  std::fflush(stdout);
  for (std::string line; std::getline(std::cin, line);) {
    using Clock = std::chrono::steady_clock;
    const Clock::time_point begin = Clock::now();
    const std::clock_t cpu = std::clock();
    const std::int64_t batches = model.status().batches;
    const std::vector<Tensor> vectors = round(model, requests, at_once);
    const std::chrono::duration<double> seconds = Clock::now() - begin;
    if (line.find('/') != std::string::npos) {
      std::ofstream out(line, std::ios::binary);
      for (const Tensor& rows : vectors)
        out.write(reinterpret_cast<const char*>(rows.data<float>()), rows.numel() * 4);
    }
    fmt::print("{{\"seconds\": {}, \"cpu\": {}, \"batches\": {}}}\n", seconds.count(),
               static_cast<double>(std::clock() - cpu) / CLOCKS_PER_SEC,
               model.status().batches - batches);
    std::fflush(stdout);
  }
}
