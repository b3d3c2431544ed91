// Random damage to files, reproducible by its seed.
#pragma once

#include <random>
#include <string>

namespace weft::attack {

using Random = std::mt19937_64;

/// Returns a random number in [0, max_value], inclusive.
std::uint64_t random_up_to(Random& random, std::uint64_t max_value);

/// Returns `bytes` with a few small changes at random positions: flipped bits, numbers near the
/// limits of their types, ranges that are removed, repeated, replaced or inserted. If `text` is
/// set, also numbers replaced by extreme ones, repeated lines, and inserted words and nesting.
std::string mutated(std::string bytes, bool text, Random& random);

/// Writes the records of a .weft file, damaged or not, to `path` with a new index and correct
/// checksums, so that damage inside the records reaches the readers of their contents. Returns
/// false if no record was found in the bytes.
bool repair_container(const std::string& bytes, const std::string& path);

/// Returns a PNG file with correct checksums of its chunks.
std::string repaired_png(std::string bytes);

/// Returns a safetensors file with the correct length of its header.
std::string repaired_safetensors(std::string bytes);

}  // namespace weft::attack
