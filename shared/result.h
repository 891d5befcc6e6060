// What a function gives that can fail in use: a value, or an Error whose sentence names the thing and the cure.
#pragma once

#include <cassert>
#include <optional>
#include <string>
#include <utility>

namespace tutti {

enum class ErrorCode {
  bad_input,    // the user's file, option or configuration is wrong; exit code 2
  unsupported,  // a lawful wish that can't be granted; exit code 2
  bad_state,    // asked for out of order, such as an answer before learning; exit code 1
  failed,       // the work itself failed; exit code 1
  cancelled,    // the user asked to stop; exit code 1
};

struct Error {
  ErrorCode code = ErrorCode::failed;
  std::string message;
};

inline Error bad_input(std::string message) { return {ErrorCode::bad_input, std::move(message)}; }
inline Error unsupported(std::string message) { return {ErrorCode::unsupported, std::move(message)}; }
inline Error bad_state(std::string message) { return {ErrorCode::bad_state, std::move(message)}; }
inline Error failed(std::string message) { return {ErrorCode::failed, std::move(message)}; }

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}
  Result(Error error) : error_(std::move(error)) {}

  explicit operator bool() const { return value_.has_value(); }

  // Only where there is a value.
  T& operator*() & { return assert(value_), *value_; }
  const T& operator*() const& { return assert(value_), *value_; }
  T&& operator*() && { return assert(value_), std::move(*value_); }
  T* operator->() { return assert(value_), &*value_; }
  const T* operator->() const { return assert(value_), &*value_; }

  // Only where there is none.
  const Error& error() const { return assert(!value_), error_; }

 private:
  std::optional<T> value_;
  Error error_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}

  explicit operator bool() const { return !error_.has_value(); }
  const Error& error() const { return assert(error_), *error_; }

 private:
  std::optional<Error> error_;
};

#define TUTTI_CONCAT2_(a, b) a##b
#define TUTTI_CONCAT_(a, b) TUTTI_CONCAT2_(a, b)

// TUTTI_TRY(auto table, read_table(path));  declares table, or returns the error from this function.
#define TUTTI_TRY(declaration, expression) TUTTI_TRY_(TUTTI_CONCAT_(result_, __LINE__), declaration, expression)
#define TUTTI_TRY_(result, declaration, expression) \
  auto result = (expression);                       \
  if (!result) return result.error();               \
  declaration = *std::move(result)

// TUTTI_CHECK(write(file));  goes on, or returns the error from this function.
#define TUTTI_CHECK(expression) \
  if (auto result_ = (expression); !result_) return result_.error()

}  // namespace tutti
