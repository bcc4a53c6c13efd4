import Foundation

/// Returns the wall-clock time in seconds since 1970, for display.
package func wallClock() -> Double { Date().timeIntervalSince1970 }
