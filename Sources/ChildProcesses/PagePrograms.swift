import Foundation

/// The programs that are needed to show a web page, with their Debian packages.
public enum PagePrograms {
    /// The command that installs all of them, run in the directory of the sources.
    public static let cure = "deploy/setup.sh --pages"

    /// Paths of the browser, best first. Debian's wrapper script is not among them: it makes settings that the service
    /// makes itself.
    private static let browsers = [
        "/usr/lib/chromium/chromium", "/usr/lib/chromium-browser/chromium-browser",
    ]

    /// Path of the browser; `nil` if none is installed.
    public static var browser: String? { browsers.first { access($0, X_OK) == 0 } }

    private static let others = [
        (name: "Xvfb", package: "xvfb"), (name: "pulseaudio", package: "pulseaudio"),
        (name: "setpriv", package: "util-linux"),
    ]

    /// Directories in which programs are searched, as in `PATH`.
    public static let path = "/usr/local/bin:/usr/bin:/bin"

    /// The programs that are missing, with their packages.
    public static var missing: [(name: String, package: String)] {
        let directories = path.split(separator: ":")
        return (browser == nil ? [(name: "chromium", package: "chromium")] : [])
            + others.filter { program in
                !directories.contains { access("\($0)/\(program.name)", X_OK) == 0 }
            }
    }
}
