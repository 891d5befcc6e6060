#include "shared/checkpoint/safetensors.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <csignal>
#include <cstring>
#include <fstream>
#include <thread>

#include "shared/random/philox.h"

using namespace tutti;
namespace fs = std::filesystem;

namespace {

// A folder of its own for each test, gone afterwards.
class Folder {
 public:
  Folder() : path_(fs::temp_directory_path() / ("tutti_safetensors_" + std::to_string(::getpid()))) {
    fs::create_directory(path_);
  }
  ~Folder() { fs::remove_all(path_); }

  fs::path operator/(const char* name) const { return path_ / name; }
  size_t file_count() const {
    return static_cast<size_t>(std::distance(fs::directory_iterator(path_), fs::directory_iterator()));
  }

 private:
  fs::path path_;
};

std::string bytes_of_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write_bytes(const fs::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

std::string file_of(const std::string& header, size_t data_bytes = 0) {
  const uint64_t length = header.size();
  std::string bytes(sizeof length, '\0');
  std::memcpy(bytes.data(), &length, sizeof length);
  return bytes + header + std::string(data_bytes, 'd');
}

// What reading a file of these bytes answers; empty where it can be read. The file's own name is left out.
std::string refusal(const std::string& bytes, ErrorCode code = ErrorCode::bad_input) {
  const Folder folder;
  const fs::path path = folder / "made.safetensors";
  write_bytes(path, bytes);
  const Result<Checkpoint> read = read_safetensors(path);
  if (read) return "";
  CHECK(read.error().code == code);
  REQUIRE(read.error().message.find(path.string() + ": ") == 0);
  return read.error().message.substr(path.string().size() + 2);
}

Tensor made_tensor(tutti_dtype dtype, std::vector<int64_t> shape, uint64_t stream) {
  Tensor tensor(dtype, std::move(shape));
  const Philox random(7, stream);
  auto* bytes = static_cast<unsigned char*>(tensor.data());
  for (int64_t i = 0; i < tensor.bytes(); ++i) bytes[i] = static_cast<unsigned char>(random.bits(static_cast<uint64_t>(i)));
  return tensor;
}

bool same(const Tensor& a, const Tensor& b) {
  return same_dtype(a.dtype(), b.dtype()) && a.shape() == b.shape() &&
         std::memcmp(a.data(), b.data(), static_cast<size_t>(a.bytes())) == 0;
}

// Bytes of a small lawful file.
std::string lawful_file() {
  const Folder folder;
  const Tensor weight = made_tensor(dtype_of<float>(), {2, 3}, 0), bias = made_tensor(dtype_of<double>(), {2}, 1);
  REQUIRE(write_safetensors(folder / "a", {{"weight", weight.borrow()}, {"bias", bias.borrow()}}, {{"epoch", "3"}}));
  return bytes_of_file(folder / "a");
}

std::string one_tensor(const char* dtype, const char* shape, const char* offsets) {
  return std::string(R"({"w":{"dtype":")") + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" + offsets + "}}";
}

// No file of this process may become larger for as long as this lives.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() { ::setrlimit(RLIMIT_FSIZE, &before_), std::signal(SIGXFSZ, handler_); }

 private:
  rlimit before_{};
  void (*handler_)(int);
};

}  // namespace

TEST_CASE("tensors of every dtype come back with the same names, shapes and bytes, in the same order") {
  const Folder folder;
  const std::vector<tutti_dtype> dtypes{dtype_of<float>(),    dtype_of<double>(),  dtype_of<int8_t>(),  dtype_of<int16_t>(),
                                        dtype_of<int32_t>(),  dtype_of<int64_t>(), dtype_of<uint8_t>(), dtype_of<uint16_t>(),
                                        dtype_of<uint32_t>(), dtype_of<uint64_t>()};
  const std::vector<std::vector<int64_t>> shapes{{}, {1}, {3, 5}, {0}, {4, 0, 2}, {1, 2, 3, 2, 1}};
  std::vector<Tensor> tensors;
  std::vector<TensorToWrite> to_write;
  for (const tutti_dtype dtype : dtypes)
    for (const auto& shape : shapes) tensors.push_back(made_tensor(dtype, shape, tensors.size()));
  for (const Tensor& tensor : tensors) to_write.push_back({"tensor " + std::to_string(99 - to_write.size()), tensor.borrow()});
  const std::map<std::string, std::string> metadata{{"a", ""}, {"", "b"}, {"quote \" and \\ and \n", "größer ≥"}};

  REQUIRE(write_safetensors(folder / "all", to_write, metadata));
  const Result<Checkpoint> read = read_safetensors(folder / "all");
  REQUIRE(read);
  CHECK(read->metadata == metadata);
  REQUIRE(read->tensors.size() == tensors.size());
  for (size_t i = 0; i < tensors.size(); ++i) {
    REQUIRE(read->tensors[i].name == to_write[i].name);
    REQUIRE(same(read->tensors[i].tensor, tensors[i]));
  }
  CHECK(read->find("tensor 99") == &read->tensors[0].tensor);
  CHECK(read->find("tensor") == nullptr);
}

TEST_CASE("a checkpoint of no tensors is lawful") {
  const Folder folder;
  REQUIRE(write_safetensors(folder / "none", {}));
  CHECK(bytes_of_file(folder / "none") == file_of("{}      "));
  const Result<Checkpoint> read = read_safetensors(folder / "none");
  REQUIRE(read);
  CHECK(read->tensors.empty());
  CHECK(read->metadata.empty());
}

TEST_CASE("a file is laid out as the format says") {
  const Folder folder;
  Tensor tensor = Tensor::of<uint8_t>({3});
  std::memcpy(tensor.data(), "abc", 3);
  REQUIRE(write_safetensors(folder / "a", {{"w", tensor.borrow()}}, {{"k", "v"}}));
  const std::string header = R"({"__metadata__":{"k":"v"},"w":{"dtype":"U8","shape":[3],"data_offsets":[0,3]}})";
  const std::string padded = header + std::string((8 - header.size() % 8) % 8, ' ');
  CHECK(bytes_of_file(folder / "a") == file_of(padded) + "abc");
}

TEST_CASE("a tensor begins where its byte offset says") {
  const Folder folder;
  const Tensor tensor = made_tensor(dtype_of<int16_t>(), {4}, 0);
  const int64_t shape[] = {2};
  tutti_tensor part = tensor.borrow();
  part.shape = shape, part.byte_offset = 4;
  REQUIRE(write_safetensors(folder / "a", {{"part", part}}));
  const Result<Checkpoint> read = read_safetensors(folder / "a");
  REQUIRE(read);
  CHECK(read->find("part")->data<int16_t>()[1] == tensor.data<int16_t>()[3]);
}

TEST_CASE("the same input gives the same bytes") { CHECK(lawful_file() == lawful_file()); }

TEST_CASE("booleans are read as u8") { CHECK(refusal(file_of(one_tensor("BOOL", "[4]", "[0,4]"), 4)) == ""); }

TEST_CASE("a file cut off at any byte is refused") {
  const std::string whole = lawful_file();
  CHECK(refusal(whole) == "");
  for (size_t size = 0; size < whole.size(); ++size) {
    INFO(size);
    REQUIRE(refusal(whole.substr(0, size)) != "");
  }
  CHECK(refusal(whole + "x").find("but the file holds 41") != std::string::npos);
}

TEST_CASE("a file with wrong bits is read or refused, and never more than that") {
  const std::string whole = lawful_file();
  const Philox random(11);
  for (uint64_t i = 0; i < 1500; ++i) {
    std::string bytes = whole;
    const uint64_t flips = 1 + random.below(1000 * i, 4);
    for (uint64_t flip = 1; flip <= flips; ++flip) {
      const uint64_t bit = random.below(1000 * i + flip, 8 * bytes.size());
      bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << bit % 8));
    }
    const Folder folder;
    write_bytes(folder / "a", bytes);
    const Result<Checkpoint> read = read_safetensors(folder / "a");
    if (!read) REQUIRE(read.error().message.find((folder / "a").string() + ": ") == 0);
  }
}

TEST_CASE("random bytes are refused") {
  const Philox random(12);
  for (uint64_t i = 0; i < 300; ++i) {
    std::string header(random.below(1000 * i, 64), '\0');
    for (size_t at = 0; at < header.size(); ++at) header[at] = static_cast<char>(random.bits(1000 * i + 1 + at));
    REQUIRE(refusal(header) != "");
    REQUIRE(refusal(file_of(header, 8)) != "");
    REQUIRE(refusal(file_of("{" + header, 8)) != "");
  }
}

TEST_CASE("a header whose length lies is refused before memory is taken for it") {
  std::string bytes = lawful_file();
  const auto with_length = [&](uint64_t length) {
    std::memcpy(bytes.data(), &length, sizeof length);
    return refusal(bytes);
  };
  CHECK(with_length(0) == "the header is not a JSON object");
  CHECK(with_length(1) == "the header is not a JSON object");
  CHECK(with_length(bytes.size() - 8) == "the header is not a JSON object");
  CHECK(with_length(bytes.size() - 7).find("reaches past the end of the file") != std::string::npos);
  CHECK(with_length(100'000'000).find("reaches past the end of the file") != std::string::npos);
  CHECK(with_length(100'000'001).find("is above the format's 100 MB") != std::string::npos);
  CHECK(with_length(UINT64_MAX).find("is above the format's 100 MB") != std::string::npos);
  CHECK(with_length(UINT64_MAX - 7).find("is above the format's 100 MB") != std::string::npos);
}

TEST_CASE("a header that is no object of tensors is refused") {
  CHECK(refusal(file_of("")) == "the header is not a JSON object");
  CHECK(refusal(file_of("[]")) == "the header is not a JSON object");
  CHECK(refusal(file_of(" {}")) == "the header is not a JSON object");
  CHECK(refusal(file_of("{} {}")) == "the header is not a JSON object");
  CHECK(refusal(file_of("{\"\xff\":1}")) == "the header is not a JSON object");
  CHECK(refusal(file_of(R"({"w":4})")) == "tensor \"w\" is not described by an object");
  CHECK(refusal(file_of(R"({"w":{}})")) == "tensor \"w\" has no dtype");
  CHECK(refusal(file_of(R"({"w":{"dtype":"F32"}})")) == "tensor \"w\" has no shape");
  CHECK(refusal(file_of(R"({"__metadata__":[]})")) == "__metadata__ is not an object");
  CHECK(refusal(file_of(R"({"__metadata__":{"epoch":3}})")) == "__metadata__ \"epoch\" is not a text");
  CHECK(refusal(file_of(std::string(200'000, '['))) == "the header is not a JSON object");
  CHECK(refusal(file_of("{\"w\":" + std::string(200'000, '['))) == "the header is nested too deeply");
  CHECK(refusal(file_of(one_tensor("F16", "[2]", "[0,4]"), 4), ErrorCode::unsupported).find("has the dtype \"F16\"") !=
        std::string::npos);
}

TEST_CASE("a name that comes twice is refused, in tensors and in metadata") {
  const std::string tensor = R"("w":{"dtype":"U8","shape":[],"data_offsets":[0,1]})";
  CHECK(refusal(file_of("{" + tensor + "}", 1)) == "");
  CHECK(refusal(file_of("{" + tensor + "," + tensor + "}", 1)) == "the header names \"w\" twice");
  CHECK(refusal(file_of(R"({"__metadata__":{"a":"1","a":"2"}})")) == "the header names \"a\" twice");
  CHECK(refusal(file_of(R"({"w":{"dtype":"U8","dtype":"I8","shape":[],"data_offsets":[0,1]}})", 1)) ==
        "the header names \"dtype\" twice");
}

TEST_CASE("shapes that are negative, broken or too large to count are refused") {
  CHECK(refusal(file_of(one_tensor("F32", "[-1]", "[0,4]"), 4)) ==
        "tensor \"w\" has an axis that is not a whole number from 0 on");
  CHECK(refusal(file_of(one_tensor("F32", "[1.0]", "[0,4]"), 4)) ==
        "tensor \"w\" has an axis that is not a whole number from 0 on");
  CHECK(refusal(file_of(one_tensor("F32", "[18446744073709551615]", "[0,4]"), 4)) ==
        "tensor \"w\" has an axis that is not a whole number from 0 on");
  const char* const uncountable = "tensor \"w\" has a shape too large to count its bytes";
  CHECK(refusal(file_of(one_tensor("F32", "[4294967296,4294967296]", "[0,0]"))) == uncountable);
  CHECK(refusal(file_of(one_tensor("F32", "[4611686018427387905]", "[0,4]"), 4)) == uncountable);
  CHECK(refusal(file_of(one_tensor("F32", "[4294967296,4294967296,0]", "[0,0]"))) == uncountable);
  CHECK(refusal(file_of(one_tensor("F64", "[1099511627776]", "[0,8796093022208]"), 8)).find("but the file holds 8") !=
        std::string::npos);
}

TEST_CASE("offsets that overlap, leave a gap or don't fit the shape are refused") {
  const auto two = [](const char* first, const char* second) {
    return file_of(std::string(R"({"a":{"dtype":"U8","shape":[2],"data_offsets":)") + first +
                       R"(},"b":{"dtype":"U8","shape":[2],"data_offsets":)" + second + "}}",
                   4);
  };
  CHECK(refusal(two("[0,2]", "[2,4]")) == "");
  CHECK(refusal(two("[2,4]", "[0,2]")) == "");
  CHECK(refusal(two("[0,2]", "[1,3]")) == "tensor \"b\" begins at byte 1 of the data, but 2 follows the tensor before it");
  CHECK(refusal(two("[0,2]", "[0,2]")) == "tensor \"b\" begins at byte 0 of the data, but 2 follows the tensor before it");
  CHECK(refusal(two("[0,2]", "[3,5]")) == "tensor \"b\" begins at byte 3 of the data, but 2 follows the tensor before it");
  CHECK(refusal(two("[1,3]", "[3,5]")) == "tensor \"a\" begins at byte 1 of the data, but 0 follows the tensor before it");
  CHECK(refusal(two("[0,2]", "[4,2]")) == "tensor \"b\" needs 2 bytes by its shape, but its data_offsets are 4 and 2");
  CHECK(refusal(two("[0,2]", "[2,5]")) == "tensor \"b\" needs 2 bytes by its shape, but its data_offsets are 2 and 5");
  CHECK(refusal(two("[0,2]", "[9223372036854775805,9223372036854775807]")).find("begins at byte 9223372036854775805") !=
        std::string::npos);
  for (const char* offsets : {"[2]", "[2,4,6]", "4", "[-2,0]", "[2.0,4.0]", "[2,18446744073709551615]"})
    CHECK(refusal(two("[0,2]", offsets)) == "tensor \"b\" has no data_offsets of two whole numbers");
  CHECK(refusal(file_of(one_tensor("U8", "[2]", "[0,2]"), 3)) == "the tensors take 2 bytes of data, but the file holds 3");
}

TEST_CASE("what is no regular file is refused") {
  const Folder folder;
  const Result<Checkpoint> missing = read_safetensors(folder / "missing");
  REQUIRE_FALSE(missing);
  CHECK(missing.error().code == ErrorCode::bad_input);
  CHECK(missing.error().message.find("can't be opened: No such file") != std::string::npos);
  CHECK(read_safetensors(folder / ".").error().message.find("is not a file") != std::string::npos);
  CHECK(read_safetensors("/dev/zero").error().message == "/dev/zero: is not a file");
}

TEST_CASE("a tensor that can't be written is named, and no file appears") {
  const Folder folder;
  const Tensor tensor = Tensor::of<float>({2, 3});
  const tutti_tensor lawful = tensor.borrow();
  const auto refused = [&](const std::vector<TensorToWrite>& tensors) {
    const Result<void> written = write_safetensors(folder / "a", tensors);
    REQUIRE_FALSE(written);
    CHECK(folder.file_count() == 0);
    return written.error().message.substr((folder / "a").string().size() + 2);
  };
  CHECK(refused({{"w", lawful}, {"w", lawful}}) == "tensor \"w\" comes twice");
  CHECK(refused({{"__metadata__", lawful}}) == "tensor \"__metadata__\" has a name kept for metadata");
  CHECK(refused({{"\xff", lawful}}).find("a name or metadata is no UTF-8 text") == 0);

  tutti_tensor spoilt = lawful;
  spoilt.device = {TUTTI_CUDA, 0};
  CHECK(refused({{"w", spoilt}}) == "tensor \"w\" is not in CPU memory; copy it there first");
  spoilt = lawful, spoilt.dtype.lanes = 2;
  CHECK(refused({{"w", spoilt}}) == "tensor \"w\" is f32x2, which can't be written");
  spoilt = lawful, spoilt.data = nullptr;
  CHECK(refused({{"w", spoilt}}) == "tensor \"w\" has no data");
  spoilt = lawful, spoilt.strides = nullptr;
  CHECK(refused({{"w", spoilt}}) == "tensor \"w\" has no shape or strides");
  const int64_t negative[] = {2, -3}, turned[] = {1, 2};
  spoilt = lawful, spoilt.shape = negative;
  CHECK(refused({{"w", spoilt}}) == "tensor \"w\" has the impossible shape [2,-3]");
  spoilt = lawful, spoilt.strides = turned;
  CHECK(refused({{"w", spoilt}}) == "tensor \"w\" is not dense; write a contiguous copy");
}

TEST_CASE("writing that fails leaves the old file and nothing beside it") {
  const Folder folder;
  const Tensor small = made_tensor(dtype_of<float>(), {4}, 0), large = made_tensor(dtype_of<float>(), {100'000}, 1);
  REQUIRE(write_safetensors(folder / "a", {{"w", small.borrow()}}));
  const std::string before = bytes_of_file(folder / "a");
  {
    const FileSizeLimit limit(10'000);
    const Result<void> written = write_safetensors(folder / "a", {{"w", large.borrow()}});
    REQUIRE_FALSE(written);
    CHECK(written.error().code == ErrorCode::failed);
    CHECK(written.error().message == (folder / "a").string() + ": can't be written: File too large");
  }
  CHECK(bytes_of_file(folder / "a") == before);
  CHECK(folder.file_count() == 1);
  REQUIRE(write_safetensors(folder / "a", {{"w", large.borrow()}}));
  CHECK(same(*read_safetensors(folder / "a")->find("w"), large));
  CHECK(folder.file_count() == 1);
}

TEST_CASE("a file can't be written into a missing folder or in the place of a folder") {
  const Folder folder;
  CHECK(write_safetensors(folder / "missing" / "a", {}).error().message.find("can't be written: No such file") !=
        std::string::npos);
  fs::create_directory(folder / "taken");
  CHECK_FALSE(write_safetensors(folder / "taken", {}));
  CHECK(folder.file_count() == 1);
}

TEST_CASE("of several writers at once one wins with a whole file") {
  const Folder folder;
  std::vector<Tensor> tensors;
  for (uint64_t i = 0; i < 4; ++i) tensors.push_back(made_tensor(dtype_of<float>(), {1000}, i));
  std::vector<std::thread> writers;
  std::atomic<int> written = 0;
  for (const Tensor& tensor : tensors)
    writers.emplace_back([&] {
      for (int i = 0; i < 2; ++i)
        if (write_safetensors(folder / "a", {{"w", tensor.borrow()}})) ++written;
    });
  for (std::thread& writer : writers) writer.join();
  CHECK(written == 8);
  const Result<Checkpoint> read = read_safetensors(folder / "a");
  REQUIRE(read);
  CHECK(std::any_of(tensors.begin(), tensors.end(), [&](const Tensor& tensor) { return same(*read->find("w"), tensor); }));
  CHECK(folder.file_count() == 1);
}
