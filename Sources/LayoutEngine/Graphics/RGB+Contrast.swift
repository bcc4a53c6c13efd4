extension RGB {
    /// Black or white, whichever contrasts with this colour by its BT.709 luma.
    var contrast: RGB {
        let luma = 2126 * Int(red) + 7152 * Int(green) + 722 * Int(blue)
        return luma > 1_275_000 ? .black : .white
    }

    /// Returns this colour mixed with a share of another one.
    func mixed(with other: RGB, _ share: UnitFraction) -> RGB {
        func channel(_ from: UInt8, _ to: UInt8) -> UInt8 {
            let sum = Int(from) * (UnitFraction.one - share.millionths) + Int(to) * share.millionths
            return UInt8((sum + UnitFraction.one / 2) / UnitFraction.one)
        }
        return RGB(
            red: channel(red, other.red), green: channel(green, other.green), blue: channel(blue, other.blue))
    }
}
