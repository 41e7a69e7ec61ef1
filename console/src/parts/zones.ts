/** Zones by city. The database of zones names one city of each; people live in others. */
import { browserZone } from './instant'

const CITIES: Record<string, string> = {
  'Europe/Berlin': 'Munich,Hamburg,Cologne,Frankfurt,Stuttgart,Düsseldorf,Leipzig,Dortmund,Essen,Bremen,Dresden,Hanover,Nuremberg,Karlsruhe,Germany',
  'Europe/Zurich': 'Zürich,Geneva,Basel,Bern,Lausanne,Switzerland',
  'Europe/Vienna': 'Graz,Linz,Salzburg,Innsbruck,Austria',
  'Europe/London': 'Manchester,Birmingham,Edinburgh,Glasgow,Leeds,Bristol,Liverpool,Cardiff,United Kingdom',
  'Europe/Dublin': 'Cork,Galway,Ireland',
  'Europe/Paris': 'Lyon,Marseille,Toulouse,Nice,Bordeaux,Lille,Strasbourg,France',
  'Europe/Madrid': 'Barcelona,Valencia,Seville,Bilbao,Málaga,Spain',
  'Europe/Rome': 'Milan,Naples,Turin,Florence,Bologna,Venice,Italy',
  'Europe/Amsterdam': 'Rotterdam,The Hague,Utrecht,Eindhoven,Netherlands',
  'Europe/Brussels': 'Antwerp,Ghent,Belgium',
  'Europe/Warsaw': 'Kraków,Gdańsk,Wrocław,Poznań,Poland',
  'Europe/Prague': 'Brno,Czechia',
  'Europe/Stockholm': 'Gothenburg,Malmö,Sweden',
  'Europe/Copenhagen': 'Aarhus,Denmark',
  'Europe/Oslo': 'Bergen,Trondheim,Norway',
  'Europe/Helsinki': 'Espoo,Tampere,Finland',
  'Europe/Lisbon': 'Porto,Portugal',
  'Europe/Athens': 'Thessaloniki,Greece',
  'Europe/Bucharest': 'Cluj,Romania',
  'Europe/Kyiv': 'Lviv,Odesa,Kharkiv,Ukraine',
  'Europe/Istanbul': 'Ankara,Izmir,Turkey',
  'Europe/Moscow': 'Saint Petersburg',
  'Europe/Belgrade': 'Novi Sad,Serbia',
  'Europe/Zagreb': 'Split,Croatia',
  'America/New_York': 'Boston,Washington DC,Philadelphia,Atlanta,Miami,Charlotte,Pittsburgh,Orlando,Cleveland,Baltimore,Raleigh',
  'America/Toronto': 'Ottawa,Montreal,Quebec',
  'America/Chicago': 'Houston,Dallas,Austin,San Antonio,Minneapolis,New Orleans,Nashville,Milwaukee,Kansas City,St. Louis,Memphis',
  'America/Denver': 'Salt Lake City,Albuquerque,Colorado Springs',
  'America/Phoenix': 'Tucson,Arizona',
  'America/Los_Angeles': 'San Francisco,Seattle,San Diego,San Jose,Las Vegas,Portland,Sacramento,Oakland,Palo Alto',
  'America/Anchorage': 'Fairbanks,Alaska',
  'Pacific/Honolulu': 'Hawaii',
  'America/Vancouver': 'Victoria',
  'America/Edmonton': 'Calgary',
  'America/Halifax': 'Nova Scotia',
  'America/Mexico_City': 'Guadalajara,Puebla',
  'America/Monterrey': 'Monterrey',
  'America/Sao_Paulo': 'Rio de Janeiro,Brasília,Belo Horizonte,Curitiba,Porto Alegre',
  'America/Argentina/Buenos_Aires': 'Rosario',
  'America/Bogota': 'Medellín,Cali,Colombia',
  'America/Lima': 'Peru',
  'America/Santiago': 'Valparaíso,Chile',
  'America/Caracas': 'Venezuela',
  'America/Montevideo': 'Uruguay',
  'Asia/Kolkata': 'Mumbai,Delhi,New Delhi,Bengaluru,Bangalore,Chennai,Hyderabad,Pune,Ahmedabad,India',
  'Asia/Shanghai': 'Beijing,Shenzhen,Guangzhou,Chengdu,Hangzhou,Wuhan,China',
  'Asia/Tokyo': 'Osaka,Kyoto,Yokohama,Nagoya,Sapporo,Fukuoka,Japan',
  'Asia/Seoul': 'Busan,Incheon,Korea',
  'Asia/Ho_Chi_Minh': 'Hanoi,Saigon,Da Nang,Vietnam',
  'Asia/Jakarta': 'Bandung,Surabaya',
  'Asia/Manila': 'Cebu,Quezon City,Philippines',
  'Asia/Karachi': 'Lahore,Islamabad,Pakistan',
  'Asia/Dhaka': 'Chittagong,Bangladesh',
  'Asia/Dubai': 'Abu Dhabi,Emirates',
  'Asia/Riyadh': 'Jeddah,Mecca',
  'Asia/Jerusalem': 'Tel Aviv,Haifa,Israel',
  'Asia/Bangkok': 'Chiang Mai,Thailand',
  'Asia/Kuala_Lumpur': 'Penang,Malaysia',
  'Asia/Tehran': 'Isfahan,Iran',
  'Asia/Baghdad': 'Iraq',
  'Asia/Almaty': 'Astana',
  'Asia/Taipei': 'Taiwan',
  'Asia/Kathmandu': 'Nepal',
  'Asia/Colombo': 'Sri Lanka',
  'Australia/Sydney': 'Canberra,Newcastle',
  'Australia/Melbourne': 'Geelong',
  'Australia/Brisbane': 'Gold Coast,Cairns',
  'Pacific/Auckland': 'Wellington,Christchurch,New Zealand',
  'Africa/Johannesburg': 'Cape Town,Durban,Pretoria,South Africa',
  'Africa/Lagos': 'Abuja,Nigeria',
  'Africa/Cairo': 'Alexandria,Giza,Egypt',
  'Africa/Nairobi': 'Mombasa,Kenya',
  'Africa/Casablanca': 'Rabat,Marrakesh,Morocco',
  'Africa/Accra': 'Ghana',
  'Africa/Addis_Ababa': 'Ethiopia',
  'Africa/Tunis': 'Tunisia',
}

export interface ZoneFound {
  zone: string
  /** The city or country that was meant, if the zone is named after another. */
  city: string | null
}

let names: string[] | null = null

/** The browser knows the names. */
function zoneNames(): string[] {
  names ??= [...new Set(['UTC', browserZone(), ...Intl.supportedValuesOf('timeZone'), ...Object.keys(CITIES)])]
  return names
}

/** Without accents, in small letters, with spaces: “Zürich” is found as “zurich”. */
function plain(text: string): string {
  return text.normalize('NFD').replace(/\p{Diacritic}/gu, '').toLowerCase().replaceAll('_', ' ').trim()
}

/** Best first: names that begin with the text, cities that do, then what has it anywhere. */
export function zonesFor(text: string, most = 30): ZoneFound[] {
  const wanted = plain(text)
  if (!wanted) return zoneNames().slice(0, most).map((zone) => ({ zone, city: null }))
  const found = new Map<string, [number, ZoneFound]>()
  const offer = (rank: number, zone: string, city: string | null) => {
    const before = found.get(zone)
    if (!before || rank < before[0]) found.set(zone, [rank, { zone, city }])
  }
  for (const zone of zoneNames()) {
    const whole = plain(zone)
    if (plain(zone.split('/').at(-1) ?? '').startsWith(wanted)) offer(0, zone, null)
    else if (whole.includes(wanted)) offer(2, zone, null)
  }
  for (const [zone, cities] of Object.entries(CITIES)) {
    for (const city of cities.split(',')) {
      if (plain(city).startsWith(wanted)) offer(plain(city) === plain(zone.split('/').at(-1) ?? '') ? 0 : 1, zone, city)
      else if (plain(city).includes(wanted)) offer(3, zone, city)
    }
  }
  return [...found.values()].sort(([one], [two]) => one - two).slice(0, most).map(([, each]) => each)
}
