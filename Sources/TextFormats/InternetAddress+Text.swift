import Foundation

extension InternetAddress {
    /// Parses a numeric address; `nil` for other text, such as a name.
    package init?(text: String) {
        var four = in_addr()
        var six = in6_addr()
        if inet_pton(AF_INET, text, &four) == 1 {
            self.init(withUnsafeBytes(of: four) { Array($0) })
        } else if inet_pton(AF_INET6, text, &six) == 1 {
            self.init(withUnsafeBytes(of: six) { Array($0) })
        } else {
            return nil
        }
    }
}
